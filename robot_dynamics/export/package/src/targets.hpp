// Targets of the hand in messages, and the hand in messages.

#ifndef @package@_TARGETS_HPP_
#define @package@_TARGETS_HPP_

#include <string>

#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "task.hpp"

namespace @package@
{

/// Return the row of FRAMES of a name. Throws Refusal if there is none.
std::size_t row_of(const std::string & name);

/// Return a target. Throws Refusal if a number or the frame is wrong.
Target target_of(const geometry_msgs::msg::PoseStamped & msg);
Target target_of(const geometry_msgs::msg::TwistStamped & msg);
Target target_of(const geometry_msgs::msg::WrenchStamped & msg);

/// Return the wrench that the hand exerts, as `exerted_wrench`, from a measured one. Throws Refusal
/// if a number is wrong, or if the frame is not fixed to the hand.
Six felt_of(const geometry_msgs::msg::WrenchStamped & msg);

/// Fill in a pose in the root link, or six numbers in its axes.
void fill(geometry_msgs::msg::Pose & msg, const Pose & pose);
void fill(geometry_msgs::msg::Twist & msg, const Six & values);

}  // namespace @package@

#endif  // @package@_TARGETS_HPP_
