// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Messages as numbers that arrive, checked, in axes of the root link; and poses as messages.

#ifndef MESSAGES_HPP_
#define MESSAGES_HPP_

#include <Eigen/Geometry>

#include <string>
#include <vector>

#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "model_library.hpp"
#include "sensor_msgs/msg/joint_state.hpp"

namespace robot_dynamics_controllers
{

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// States and references beyond it are no measurement, and would overflow in the equations.
constexpr double LARGEST_STATE = 1e6;
constexpr double LARGEST_EFFORT = 1e9;

/// Return a number, or NaN if it is too large for one.
double usable(double x, double largest = LARGEST_STATE);

/// Refuse numbers of a message that are not finite. Throws Refusal.
void check_finite(const std::vector<double> & values);

/// Poses of the frames of a model at positions of the joints.
class Frames
{
public:
  Frames(const Model & model, const double * q);

  /// Return the pose of a frame in the root link. Throws Refusal if there is none.
  Eigen::Isometry3d pose(const std::string & name) const;

  /// Return the axes of a frame, or of the root link without a name. Throws Refusal.
  Eigen::Isometry3d axes(const std::string & name) const;

  /// Return the place of a frame in the table. Throws Refusal if there is none.
  std::size_t row(const std::string & name) const;

private:
  const Model & model_;
  std::vector<double> poses_;
};

/// Return a reference by joint names: positions, velocities, efforts, and whether these were given.
/// Throws Refusal.
std::vector<double> reference_of(const Model & model, const sensor_msgs::msg::JointState & msg);

/// Return a target pose of the end effector in the root link. Throws Refusal.
Eigen::Isometry3d target_of(const Frames & frames, const geometry_msgs::msg::PoseStamped & msg);

/// Return a target twist in axes of the root link, linear before angular. Throws Refusal.
Vector6 target_of(const Frames & frames, const geometry_msgs::msg::TwistStamped & msg);

/// Return a target wrench in axes of the root link, force before moment. Throws Refusal.
Vector6 target_of(const Frames & frames, const geometry_msgs::msg::WrenchStamped & msg);

/// Return the matrix from a wrench that the surroundings exert, measured in a frame fixed to the end
/// effector, to the wrench that this exerts about its origin in its axes. Throws Refusal.
Matrix6 wrench_matrix_of(const Model & model, const Frames & frames, const std::string & frame);

/// Return a measured wrench in the axes of its frame. Throws Refusal.
Vector6 vector_of(const geometry_msgs::msg::Wrench & msg);

void fill(geometry_msgs::msg::Pose & msg, const Eigen::Isometry3d & pose);
void fill(geometry_msgs::msg::Twist & msg, const Vector6 & values);

}  // namespace robot_dynamics_controllers

#endif  // MESSAGES_HPP_
