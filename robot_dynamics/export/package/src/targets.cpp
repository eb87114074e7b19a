#include "targets.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model.hpp"
#include "refusal.hpp"
#include "rotation.hpp"

namespace @package@
{
namespace
{

constexpr double LARGEST = 1e5;      // in SI units; a larger number is a mistake
constexpr double UNIT_LENGTH = 1e-3;  // deviation of a quaternion that is taken for rounding
constexpr std::size_t SHOWN = 12;    // names of frames in a message

void check(const std::string & name, double value)
{
  if (!std::isfinite(value)) {
    throw Refusal(name + " is " + text(value, "%g") + "; every number must be finite");
  }
  if (std::abs(value) > LARGEST) {
    throw Refusal(
      name + " is " + text(value, "%g") + "; give " + text(LARGEST, "%g") + " at most, in SI units");
  }
}

std::size_t frame_of(const std::string & name)
{
  return name.empty() || name == ROOT ? Target::ROOT_AXES : row_of(name);
}

template <typename Vector3>
Six six_of(
  const char * first, const Vector3 & a, const char * second, const Vector3 & b)
{
  const Six values = {{a.x, a.y, a.z, b.x, b.y, b.z}};
  for (std::size_t i = 0; i < 6; ++i) {
    check(std::string(i < 3 ? first : second) + "." + "xyz"[i % 3], values[i]);
  }
  return values;
}

}  // namespace

std::size_t row_of(const std::string & name)
{
  const auto found = std::find(FRAMES.begin(), FRAMES.end(), name);
  if (found != FRAMES.end()) {
    return static_cast<std::size_t>(found - FRAMES.begin());
  }
  std::string known;
  for (std::size_t i = 0; i < std::min(FRAMES.size(), SHOWN); ++i) {
    known += (i > 0 ? ", " : "") + std::string(FRAMES[i]);
  }
  if (FRAMES.size() > SHOWN) {
    known += ", ... " + std::to_string(FRAMES.size()) + " in all";
  }
  throw Refusal("no frame '" + name + "' in robot '" + ROBOT + "' (frames: " + known + ")");
}

Target target_of(const geometry_msgs::msg::PoseStamped & msg)
{
  Target target;
  target.kind = Target::Kind::pose;
  target.frame = frame_of(msg.header.frame_id);
  const auto & p = msg.pose.position;
  const auto & o = msg.pose.orientation;
  for (const auto & [name, value] :
       {std::pair{"position.x", p.x}, {"position.y", p.y}, {"position.z", p.z},
        {"orientation.x", o.x}, {"orientation.y", o.y}, {"orientation.z", o.z},
        {"orientation.w", o.w}}) {
    check(name, value);
  }
  const double length = std::hypot(std::hypot(o.x, o.y), std::hypot(o.z, o.w));
  if (std::abs(length - 1.0) > UNIT_LENGTH) {
    throw Refusal("the quaternion has the length " + text(length) + "; give one of length 1");
  }
  target.pose.rotation = rotation_of({{o.x, o.y, o.z, o.w}}, length);
  target.pose.position = {{p.x, p.y, p.z}};
  return target;
}

Target target_of(const geometry_msgs::msg::TwistStamped & msg)
{
  Target target;
  target.kind = Target::Kind::twist;
  target.frame = frame_of(msg.header.frame_id);
  target.vector = six_of("linear", msg.twist.linear, "angular", msg.twist.angular);
  return target;
}

Target target_of(const geometry_msgs::msg::WrenchStamped & msg)
{
  Target target;
  target.kind = Target::Kind::wrench;
  target.frame = frame_of(msg.header.frame_id);
  target.vector = six_of("force", msg.wrench.force, "torque", msg.wrench.torque);
  return target;
}

Six felt_of(const geometry_msgs::msg::WrenchStamped & msg)
{
  const Six wrench = six_of("force", msg.wrench.force, "torque", msg.wrench.torque);
  const std::string & name = msg.header.frame_id;
  const std::size_t frame = name.empty() ? HAND_FRAME : row_of(name);
  if (!FIXED_TO_HAND[frame]) {
    throw Refusal("frame '" + name + "' moves against '" + HAND + "'");
  }
  return exerted_wrench(wrench, frame);
}

void fill(geometry_msgs::msg::Pose & msg, const Pose & pose)
{
  const auto & r = pose.rotation;
  // Four times the products of the components x, y, z, w; the largest one divides
  const double rows[4][4] = {
    {1.0 + r[0] - r[4] - r[8], r[1] + r[3], r[2] + r[6], r[7] - r[5]},
    {r[1] + r[3], 1.0 - r[0] + r[4] - r[8], r[5] + r[7], r[2] - r[6]},
    {r[2] + r[6], r[5] + r[7], 1.0 - r[0] - r[4] + r[8], r[3] - r[1]},
    {r[7] - r[5], r[2] - r[6], r[3] - r[1], 1.0 + r[0] + r[4] + r[8]}};
  std::size_t k = 0;
  for (std::size_t i = 1; i < 4; ++i) {
    k = rows[i][i] > rows[k][k] ? i : k;
  }
  const double * o = rows[k];
  const double size = std::hypot(std::hypot(o[0], o[1]), std::hypot(o[2], o[3]));
  msg.orientation.x = o[0] / size;
  msg.orientation.y = o[1] / size;
  msg.orientation.z = o[2] / size;
  msg.orientation.w = o[3] / size;
  msg.position.x = pose.position[0];
  msg.position.y = pose.position[1];
  msg.position.z = pose.position[2];
}

void fill(geometry_msgs::msg::Twist & msg, const Six & values)
{
  msg.linear.x = values[0];
  msg.linear.y = values[1];
  msg.linear.z = values[2];
  msg.angular.x = values[3];
  msg.angular.y = values[4];
  msg.angular.z = values[5];
}

}  // namespace @package@
