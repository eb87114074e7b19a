// Parameters of the controller: their declaration, their checks, and the settings they make.

#ifndef @package@_PARAMETERS_HPP_
#define @package@_PARAMETERS_HPP_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "controller_core.hpp"
#include "rclcpp/parameter.hpp"
#include "refusal.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace @package@
{

/// Parameters by name: present ones, or those that are asked for.
using Lookup = std::function<rclcpp::Parameter(const std::string &)>;

/// Values of base_motion.
constexpr const char * NO_BASE_MOTION = "none";
constexpr const char * IMU = "imu";
constexpr const char * ODOM = "odom";

/// Parameters that do not change while the controller runs.
struct Wiring
{
  std::vector<std::string> command_interfaces;
  bool reference_effort = false;
  bool actuator_space = false;
  std::array<double, N * N> to_actuators{};  // row by row: f = to_actuators tau
  bool strict = true;                        // refuses another robot_description
  double publish_rate = 50.0;                // Hz
  double reference_lead = 1.0;               // periods, of a preceding controller
  std::string base_motion;                   // topic: imu, odom, or none
  double base_filter = 0.01;                 // s
};

/// Times after which targets of the hand end, s.
struct Timeouts
{
  double twist = 0.1;
  double wrench = 0.5;
};

Timeouts timeouts_of(const Lookup & get);

/// Declare all parameters.
void declare_parameters(rclcpp_lifecycle::LifecycleNode & node);

/// Return the wiring. Throws Refusal.
Wiring wiring_of(const Lookup & get);

/// Return the settings at an update rate in Hz; 0 if it is not known yet. Throws Refusal.
Settings settings_of(const Lookup & get, double update_rate);

/// Return the load. Throws Refusal.
Load load_of(const Lookup & get);

/// Refuse numbers that are not finite or that are too large. Throws Refusal.
void check_numbers(const rclcpp::Parameter & parameter);

/// Return whether a parameter belongs to the load alone.
bool is_of_load(const std::string & name);

/// Return the default gains of an update rate in Hz: those of the next lower one.
const DefaultGains & default_gains(double update_rate);

/// Refuse gravity that is on no planet. Throws Refusal.
void check_gravity(const std::array<double, 3> & gravity);

/// Refuse a load that takes more effort at positions q than a joint has, and more than the
/// present load. Throws Refusal.
void check_load(
  const std::string & what, const Vector & q, const Load & before, const Load & after,
  const Settings & settings);

/// Refuse efforts of a wrench that joints cannot bear beside gravity at positions q. Throws Refusal.
void check_wrench(const Vector & effort, const Vector & q, const Settings & settings);

/// Return the unit of a position, or with a suffix of another quantity, of a joint.
const char * unit(std::size_t joint);
const char * effort_unit(std::size_t joint);

}  // namespace @package@

#endif  // @package@_PARAMETERS_HPP_
