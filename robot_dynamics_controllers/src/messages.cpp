// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "messages.hpp"

#include <algorithm>
#include <cmath>

#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

constexpr double LARGEST = 1e5;       // in SI units; a larger number is a mistake
constexpr double UNIT_LENGTH = 1e-3;  // deviation of a quaternion that is taken for rounding
constexpr std::size_t SHOWN = 12;     // names of frames in a message

void check(const std::string & name, double value)
{
  if (!(std::abs(value) <= LARGEST)) {
    throw Refusal(
      name + " is " + text(value, "%g") + "; give finite numbers of " + text(LARGEST, "%g") +
      " at most, in SI units");
  }
}

template <typename Vector3>
Eigen::Vector3d vector_of(const char * name, const Vector3 & v)
{
  const Eigen::Vector3d values(v.x, v.y, v.z);
  for (int i = 0; i < 3; ++i) {
    check(std::string(name) + "." + "xyz"[i], values[i]);
  }
  return values;
}

/// Return two vectors, turned.
template <typename Vector3>
Vector6 turned(
  const Eigen::Isometry3d & axes, const char * first, const Vector3 & a, const char * second,
  const Vector3 & b)
{
  Vector6 found;
  found << axes.linear() * vector_of(first, a), axes.linear() * vector_of(second, b);
  return found;
}

}  // namespace

double usable(double x, double largest) { return std::abs(x) < largest ? x : NAN; }

void check_finite(const std::vector<double> & values)
{
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    throw Refusal("(" + list(values) + ") has a number that is not finite");
  }
}

Frames::Frames(const Model & model, const double * q)
: model_(model), poses_(12 * model.frame_count)
{
  model.frames(q, poses_.data());
}

std::size_t Frames::row(const std::string & name) const
{
  std::vector<std::string> known;
  for (std::size_t i = 0; i < model_.frame_count; ++i) {
    if (model_.frame_list[i].name == name) {
      return i;
    }
    known.emplace_back(model_.frame_list[i].name);
  }
  if (known.size() > SHOWN) {
    known.resize(SHOWN);
    known.push_back("... " + std::to_string(model_.frame_count) + " in all");
  }
  throw Refusal(
    "no frame " + quoted(name) + " in robot " + quoted(model_.robot) +
    " (frames: " + joined(known) + ")");
}

Eigen::Isometry3d Frames::pose(const std::string & name) const
{
  const double * values = poses_.data() + 12 * row(name);
  Eigen::Isometry3d found = Eigen::Isometry3d::Identity();
  found.linear() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(values);
  found.translation() = Eigen::Map<const Eigen::Vector3d>(values + 9);
  return found;
}

Eigen::Isometry3d Frames::axes(const std::string & name) const
{
  return name.empty() || name == model_.root ? Eigen::Isometry3d::Identity() : pose(name);
}

std::vector<double> reference_of(const Model & model, const sensor_msgs::msg::JointState & msg)
{
  const std::size_t size = msg.name.size();
  const auto fits = [size](const std::vector<double> & values) {
    return values.empty() || values.size() == size;
  };
  if (msg.position.size() != size || !fits(msg.velocity) || !fits(msg.effort)) {
    throw Refusal(
      "there are " + std::to_string(size) + " names, " + std::to_string(msg.position.size()) +
      " positions, " + std::to_string(msg.velocity.size()) + " velocities and " +
      std::to_string(msg.effort.size()) + " efforts; give one of each per name");
  }
  const std::size_t n = model.joint_count;
  std::vector<double> found(3 * n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string name = model.joints[i].name;
    const auto at = std::find(msg.name.begin(), msg.name.end(), name);
    if (at == msg.name.end()) {
      throw Refusal("joint " + quoted(name) + " is not named");
    }
    const auto k = static_cast<std::size_t>(at - msg.name.begin());
    found[i] = usable(msg.position[k]);
    found[n + i] = msg.velocity.empty() ? 0.0 : usable(msg.velocity[k]);
    found[2 * n + i] = msg.effort.empty() ? 0.0 : usable(msg.effort[k], LARGEST_EFFORT);
    if (!std::isfinite(found[i] + found[n + i] + found[2 * n + i])) {
      throw Refusal("a number of joint " + quoted(name) + " is not finite, or too large");
    }
  }
  found.back() = msg.effort.empty() ? 0.0 : 1.0;
  return found;
}

Eigen::Isometry3d target_of(const Frames & frames, const geometry_msgs::msg::PoseStamped & msg)
{
  Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
  pose.translation() = vector_of("position", msg.pose.position);
  const auto & o = msg.pose.orientation;
  Eigen::Quaterniond turn;
  turn.coeffs() << vector_of("orientation", o), o.w;
  check("orientation.w", o.w);
  if (std::abs(turn.norm() - 1.0) > UNIT_LENGTH) {
    throw Refusal("the quaternion has the length " + text(turn.norm()) + "; give one of length 1");
  }
  pose.linear() = turn.normalized().toRotationMatrix();
  return frames.axes(msg.header.frame_id) * pose;
}

Vector6 target_of(const Frames & frames, const geometry_msgs::msg::TwistStamped & msg)
{
  const Eigen::Isometry3d axes = frames.axes(msg.header.frame_id);
  return turned(axes, "linear", msg.twist.linear, "angular", msg.twist.angular);
}

Vector6 target_of(const Frames & frames, const geometry_msgs::msg::WrenchStamped & msg)
{
  const Eigen::Isometry3d axes = frames.axes(msg.header.frame_id);
  return turned(axes, "force", msg.wrench.force, "torque", msg.wrench.torque);
}

Vector6 vector_of(const geometry_msgs::msg::Wrench & msg)
{
  return turned(Eigen::Isometry3d::Identity(), "force", msg.force, "torque", msg.torque);
}

Matrix6 wrench_matrix_of(const Model & model, const Frames & frames, const std::string & frame)
{
  const std::string name = frame.empty() ? model.end_effector : frame;
  if (!model.frame_list[frames.row(name)].fixed_to_end_effector) {
    throw Refusal("frame " + quoted(name) + " moves against " + quoted(model.end_effector));
  }
  const Eigen::Isometry3d place = frames.pose(model.end_effector).inverse() * frames.pose(name);
  Matrix6 found = Matrix6::Zero();
  found.topLeftCorner<3, 3>() = found.bottomRightCorner<3, 3>() = -place.linear();
  for (int i = 0; i < 3; ++i) {
    found.block<3, 1>(3, i) = place.translation().cross(found.block<3, 1>(0, i));
  }
  return found;
}

void fill(geometry_msgs::msg::Pose & msg, const Eigen::Isometry3d & pose)
{
  const Eigen::Quaterniond o(pose.linear());
  msg.orientation.x = o.x();
  msg.orientation.y = o.y();
  msg.orientation.z = o.z();
  msg.orientation.w = o.w();
  msg.position.x = pose.translation().x();
  msg.position.y = pose.translation().y();
  msg.position.z = pose.translation().z();
}

void fill(geometry_msgs::msg::Twist & msg, const Vector6 & values)
{
  msg.linear.x = values[0];
  msg.linear.y = values[1];
  msg.linear.z = values[2];
  msg.angular.x = values[3];
  msg.angular.y = values[4];
  msg.angular.z = values[5];
}

}  // namespace robot_dynamics_controllers
