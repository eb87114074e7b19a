// Settings of the hand from what a user gives: checks, defaults, and what the rate supports.

#ifndef @package@_HAND_SETTINGS_HPP_
#define @package@_HAND_SETTINGS_HPP_

#include <array>
#include <string>
#include <vector>

#include "task.hpp"

namespace @package@
{

/// Parameters `task` as they are given; empty ones are by default those of the hand.
struct HandParameters
{
  std::string axes = "root";
  std::vector<double> stiffness;  // 6 or 36 numbers
  std::vector<double> damping;
  std::vector<double> inertia;
  double damping_ratio = TASK_DAMPING_RATIO;
  std::vector<double> largest_error{TASK_LARGEST_ERROR.begin(), TASK_LARGEST_ERROR.end()};
  std::vector<std::string> controlled;
  std::vector<double> free_axis{0.0, 0.0, 0.0};
  double posture_frequency = TASK_POSTURE_FREQUENCY;
  double settling = TASK_SETTLING;
  std::vector<double> speed{TASK_SPEED.begin(), TASK_SPEED.end()};
  std::vector<double> acceleration{TASK_ACCELERATION.begin(), TASK_ACCELERATION.end()};
  bool force_feedback = false;
  double force_proportional = FORCE_PROPORTIONAL;
  double force_integral = FORCE_INTEGRAL;
  std::vector<double> force_largest{FORCE_LARGEST.begin(), FORCE_LARGEST.end()};
  double force_timeout = FORCE_TIMEOUT;
};

/// Returns the settings in a loop with a bandwidth for defaults and a largest natural frequency,
/// rad/s. Throws Refusal.
TaskSettings hand_settings(const HandParameters & given, double bandwidth, double fastest);

}  // namespace @package@

#endif  // @package@_HAND_SETTINGS_HPP_
