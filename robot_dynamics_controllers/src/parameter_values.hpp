// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Parameters of the node as the numbers that the model is configured by, and back.

#ifndef PARAMETER_VALUES_HPP_
#define PARAMETER_VALUES_HPP_

#include <Eigen/Core>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "rclcpp/parameter.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
#include "robot_dynamics_controllers/model_controller_parameters.hpp"

namespace robot_dynamics_controllers
{

using Parameters = std::vector<rclcpp::Parameter>;

/// Parameters by name: present ones, or those that are asked for.
using Lookup = std::function<rclcpp::Parameter(const std::string &)>;

/// What the parameters make of a model.
struct Configured
{
  std::vector<double> settings;
  std::vector<double> load;  // payload, gravity, wrench
  std::vector<double> effective;
  std::string notice;  // of parameters that are accepted; empty for none
};

/// The parameters of one model.
class ParameterValues
{
public:
  /// Of a model and an update rate, Hz.
  ParameterValues(const Model & model, double rate) : model_(model), rate_(rate) {}

  /// Return what the parameters make. Throws Refusal with the reason of the model.
  Configured configured(
    const rclcpp_lifecycle::LifecycleNode & node, const Lookup & get,
    const std::vector<double> * gravity) const;

  /// Return the parameters that have no value yet with the values that are used. As long as these
  /// are unchanged, they are defaults.
  Parameters defaults(
    const rclcpp_lifecycle::LifecycleNode & node, const std::vector<double> & effective);

  /// Return parameters as they were before they were filled in.
  Parameters forgotten(const rclcpp_lifecycle::LifecycleNode & node) const;

private:
  std::vector<double> numbers(
    const rclcpp_lifecycle::LifecycleNode & node, const Lookup & get) const;

  const Model & model_;
  double rate_;
  std::map<std::string, std::pair<rclcpp::Parameter, rclcpp::Parameter>> filled_;  // before, after
};

/// Parameters that do not change while the controller runs.
struct Wiring
{
  model_controller::Params given;
  Eigen::MatrixXd to_actuators;     // f = to_actuators tau; empty in the space of the joints
  std::vector<std::string> sensed;  // state interfaces of sensors
  Matrix6 of_wrench;                // see `wrench_matrix_of`
  Eigen::Matrix3d of_imu;           // axes of the IMU in the root link
};

/// Return the wiring. Throws Refusal.
Wiring wiring_of(const model_controller::Params & given, const Model & model);

/// Return whether a parameter belongs to the load alone.
bool is_of_load(const std::string & name);

}  // namespace robot_dynamics_controllers

#endif  // PARAMETER_VALUES_HPP_
