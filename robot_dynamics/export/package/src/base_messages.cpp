#include "base_messages.hpp"

#include <string>

#include "model.hpp"
#include "refusal.hpp"
#include "targets.hpp"
#include "task.hpp"

namespace @package@
{

const BaseMotion & base_motion_of(
  const sensor_msgs::msg::Imu & msg, BaseFilter & filter, double stamp)
{
  if (msg.linear_acceleration_covariance[0] == -1.0) {
    throw Refusal("the message has no linear_acceleration");
  }
  Pose place;
  const std::string & frame = msg.header.frame_id;
  if (!frame.empty() && frame != ROOT) {
    const std::size_t row = row_of(frame);
    if (!FIXED_TO_ROOT[row]) {
      throw Refusal(
        "frame '" + frame + "' moves against the root link '" + ROOT + "'; give one fixed to it");
    }
    place = frame_pose({}, row);  // the same at all positions of the joints
  }
  const auto turned = [&place](const geometry_msgs::msg::Vector3 & v) {
    Three w;
    for (std::size_t i = 0; i < 3; ++i) {
      const double * row = &place.rotation[3 * i];
      w[i] = row[0] * v.x + row[1] * v.y + row[2] * v.z;
    }
    return w;
  };
  return filter.imu(
    turned(msg.linear_acceleration), turned(msg.angular_velocity), place.position, stamp);
}

const BaseMotion & base_motion_of(
  const nav_msgs::msg::Odometry & msg, BaseFilter & filter, double stamp)
{
  if (!msg.child_frame_id.empty() && msg.child_frame_id != ROOT) {
    throw Refusal("child_frame_id is '" + msg.child_frame_id + "', not '" + ROOT + "'");
  }
  const auto & o = msg.pose.pose.orientation;
  const auto & v = msg.twist.twist.linear;
  const auto & w = msg.twist.twist.angular;
  return filter.odometry({{o.x, o.y, o.z, o.w}}, {{v.x, v.y, v.z, w.x, w.y, w.z}}, stamp);
}

}  // namespace @package@
