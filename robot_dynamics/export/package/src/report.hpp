// What the loop shows of itself, in words and messages.

#ifndef @package@_REPORT_HPP_
#define @package@_REPORT_HPP_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_core.hpp"
#include "diagnostic_msgs/msg/diagnostic_status.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace @package@
{

/// State of the loop after a cycle. Counts and times are those since activation, and extremes those
/// since the last snapshot that was taken.
struct Snapshot
{
  std::int64_t stamp = 0;  // ns
  bool active = false;
  Mode mode = Mode::feedforward;
  bool chained = false;
  bool sees = false;  // a finite state has come
  Vector q{};         // last finite state
  Vector qd{};
  Command command;
  Vector last_effort{};  // left on deactivation
  std::uint32_t cycles = 0;
  std::uint32_t unwritten = 0;  // commands that an interface did not accept
  std::array<std::uint32_t, N> saturated{};
  Vector largest_error{};
  double time = 0.0;            // s
  double elapsed = 0.0;         // s, since activation
  double longest_period = 0.0;  // s
};

/// Return the next snapshot with the extremes of both.
Snapshot with_extremes(Snapshot next, const Snapshot & before);

/// Return a snapshot with the counts since another one.
Snapshot since(Snapshot now, const Snapshot & before);

/// Return a status in words, in a mode of the joints or of the hand.
std::string words(Status status, bool of_hand = false);

/// Return the present contact in words.
std::string contact(const Command & command);

/// Return why the arm was stopped, with numbers and the likely cause.
std::string reason(const Stop & stop, const Vector & q);

/// Return what a deactivated controller leaves behind.
std::string farewell(const Snapshot & snapshot);

std::string words(const Load & load);

void fill(control_msgs::msg::JointTrajectoryControllerState & msg, const Snapshot & snapshot);

/// Fill in efforts by cause, row by row; the first label of the layout names the rows.
void fill(std_msgs::msg::Float64MultiArray & msg, const Snapshot & snapshot);

/// Facts of a diagnostic status that the snapshot does not have.
struct Facts
{
  std::string mode;
  std::string load;
  std::string gains;
  std::string name;  // of the node
  double update_rate = 0.0;  // Hz
  std::uint32_t refused = 0;  // messages
  double stiffness = 1.0;     // share of that of the hand in use
  bool feels = false;         // force feedback is on
  std::string base;           // why its motion is not known, or empty
};

diagnostic_msgs::msg::DiagnosticStatus diagnostics(
  const Snapshot & snapshot, const Facts & facts);

}  // namespace @package@

#endif  // @package@_REPORT_HPP_
