// Motion of the base in messages.

#ifndef @package@_BASE_MESSAGES_HPP_
#define @package@_BASE_MESSAGES_HPP_

#include "base_estimate.hpp"
#include "nav_msgs/msg/odometry.hpp"
#include "sensor_msgs/msg/imu.hpp"

namespace @package@
{

/// Return the motion by a measurement at a time, s. Throws Refusal if a number or the frame is
/// wrong.
const BaseMotion & base_motion_of(
  const sensor_msgs::msg::Imu & msg, BaseFilter & filter, double stamp);
const BaseMotion & base_motion_of(
  const nav_msgs::msg::Odometry & msg, BaseFilter & filter, double stamp);

}  // namespace @package@

#endif  // @package@_BASE_MESSAGES_HPP_
