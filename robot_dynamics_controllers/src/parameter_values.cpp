// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "parameter_values.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

/// Call a function with field, name, offset and size of every parameter; the name of a joint stands
/// behind the first word.
template <typename Visit>
void for_each_parameter(const Model & model, Visit visit)
{
  for (std::size_t k = 0; k < model.parameters.field_count; ++k) {
    const Field & field = model.parameters.fields[k];
    const std::string name = field.name;
    if (!field.per_joint) {
      visit(field, name, field.offset, field.size);
      continue;
    }
    const auto dot = name.find('.');
    const std::size_t size = field.size / model.joint_count;
    for (std::size_t i = 0; i < model.joint_count; ++i) {
      const std::string own = name.substr(0, dot + 1) + model.joints[i].name + name.substr(dot);
      visit(field, own, field.offset + i * size, size);
    }
  }
}

double number_of(const std::string & word, const Field & field)
{
  std::vector<std::string> known;
  for (std::size_t k = 0; field.choices != nullptr && field.choices[k] != nullptr; ++k) {
    if (word == field.choices[k]) {
      return static_cast<double>(k);
    }
    known.emplace_back(field.choices[k]);
  }
  throw Refusal(
    "parameter " + quoted(field.name) + " is " + quoted(word) + "; give one of " + joined(known));
}

/// Return the numbers of a parameter; none of an empty list.
std::vector<double> numbers_of(const rclcpp::Parameter & parameter, const Field & field)
{
  std::vector<double> found;
  switch (parameter.get_type()) {
    case rclcpp::ParameterType::PARAMETER_DOUBLE: return {parameter.as_double()};
    case rclcpp::ParameterType::PARAMETER_BOOL: return {parameter.as_bool() ? 1.0 : 0.0};
    case rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY: return parameter.as_double_array();
    case rclcpp::ParameterType::PARAMETER_STRING: return {number_of(parameter.as_string(), field)};
    case rclcpp::ParameterType::PARAMETER_STRING_ARRAY:
      for (const std::string & word : parameter.as_string_array()) {
        found.push_back(number_of(word, field));
      }
      return found;
    default: return {};
  }
}

/// Return a parameter of numbers, of the type that it has.
rclcpp::Parameter parameter_of(
  const rclcpp::Parameter & before, const double * values, std::size_t size, const Field & field)
{
  const std::string & name = before.get_name();
  if (before.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) {
    return {name, values[0]};
  }
  if (field.choices == nullptr) {
    return {name, std::vector<double>(values, values + size)};
  }
  std::vector<std::string> words;
  for (std::size_t i = 0; i < size; ++i) {
    words.emplace_back(field.choices[std::lround(values[i])]);
  }
  return {name, words};
}

bool is_finite(double x) { return std::isfinite(x); }

bool is_default(const rclcpp::Parameter & parameter)
{
  switch (parameter.get_type()) {
    case rclcpp::ParameterType::PARAMETER_DOUBLE: return std::isnan(parameter.as_double());
    case rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY: return parameter.as_double_array().empty();
    case rclcpp::ParameterType::PARAMETER_STRING_ARRAY: return parameter.as_string_array().empty();
    default: return false;
  }
}

/// Return J^-T of a coupling J, given row by row. Throws Refusal.
Eigen::MatrixXd inverse_transpose(const std::vector<double> & coupling, std::size_t n)
{
  const std::string count = std::to_string(n);
  if (coupling.empty()) {
    throw Refusal(
      "actuator_space is true but actuator_coupling is empty; give " + count + " x " + count +
      " numbers, row by row: the movement of each actuator per rad or m of each joint");
  }
  if (coupling.size() != n * n) {
    throw Refusal(
      "parameter 'actuator_coupling' has " + std::to_string(coupling.size()) + " entries; give " +
      count + " x " + count + " of them, row by row: one row per actuator");
  }
  const auto size = static_cast<Eigen::Index>(n);
  const Eigen::MatrixXd transposed =
    Eigen::Map<const Eigen::MatrixXd>(coupling.data(), size, size);  // columns are rows of J
  // Each column scaled to 1, as joints that slide and joints that turn have other units
  const Eigen::VectorXd scale = transposed.rowwise().lpNorm<Eigen::Infinity>();
  const Eigen::MatrixXd scaled =
    scale.cwiseMax(std::numeric_limits<double>::min()).cwiseInverse().asDiagonal() * transposed;
  const Eigen::FullPivLU<Eigen::MatrixXd> found(scaled);
  if (!(scale.array() > 0.0).all() || !found.isInvertible()) {
    throw Refusal(
      "parameter 'actuator_coupling' has no inverse; some joint motion would move no actuator");
  }
  return found.inverse() * scale.cwiseInverse().asDiagonal();
}

}  // namespace

std::vector<double> ParameterValues::numbers(
  const rclcpp_lifecycle::LifecycleNode & node, const Lookup & get) const
{
  std::vector<double> values(model_.parameters.size, NAN);
  const std::vector<std::string> listed = get("command_interfaces").as_string_array();
  const std::set<std::string> kinds(listed.begin(), listed.end());
  const std::map<std::string, double> facts = {
    // which no parameter gives
    {"rate", rate_},
    {"takes_position", kinds.count("position") > 0 ? 1.0 : 0.0},
    {"takes_velocity", kinds.count("velocity") > 0 ? 1.0 : 0.0}};
  for_each_parameter(
    model_, [&](const Field & field, const std::string & name, std::size_t at, std::size_t size) {
      if (const auto fact = facts.find(name); fact != facts.end()) {
        values[at] = fact->second;
        return;
      }
      const auto filled = filled_.find(name);
      if (
        !node.has_parameter(name) ||
        (filled != filled_.end() && filled->second.second == get(name))) {
        return;
      }
      const std::vector<double> given = numbers_of(get(name), field);
      if (!given.empty() && given.size() != size) {
        throw Refusal(
          "parameter " + quoted(name) + " has " + std::to_string(given.size()) + " entries; give " +
          std::to_string(size));
      }
      if (size > 1 && !std::all_of(given.begin(), given.end(), is_finite)) {
        throw Refusal("parameter " + quoted(name) + " has an entry that is no finite number");
      }
      std::copy(given.begin(), given.end(), values.begin() + static_cast<std::ptrdiff_t>(at));
    });
  return values;
}

Configured ParameterValues::configured(
  const rclcpp_lifecycle::LifecycleNode & node, const Lookup & get,
  const std::vector<double> * gravity) const
{
  std::vector<double> given = numbers(node, get);
  if (gravity != nullptr) {
    std::copy(
      gravity->begin(), gravity->end(),
      given.begin() + static_cast<std::ptrdiff_t>(offset_of(model_.parameters, "gravity")));
  }
  Configured found;
  found.settings = initial(model_.settings);
  found.load.assign(ROBOT_DYNAMICS_LOAD_SIZE, 0.0);
  found.effective = initial(model_.parameters);
  std::vector<double> refusal = initial(model_.refusal);
  model_.configure(
    given.data(), found.settings.data(), found.load.data(), found.effective.data(), refusal.data());
  throw_refusal(model_, refusal);
  found.notice = notice(model_, refusal);
  return found;
}

Parameters ParameterValues::defaults(
  const rclcpp_lifecycle::LifecycleNode & node, const std::vector<double> & effective)
{
  Parameters found;
  for_each_parameter(
    model_, [&](const Field & field, const std::string & name, std::size_t at, std::size_t size) {
      const double * values = effective.data() + at;
      const bool known = std::all_of(values, values + size, is_finite);
      if (known && node.has_parameter(name) && is_default(node.get_parameter(name))) {
        const rclcpp::Parameter before = node.get_parameter(name);
        found.push_back(parameter_of(before, values, size, field));
        filled_[name] = {before, found.back()};
      }
    });
  return found;
}

Parameters ParameterValues::forgotten(const rclcpp_lifecycle::LifecycleNode & node) const
{
  Parameters found;
  for (const auto & [name, values] : filled_) {
    if (node.has_parameter(name) && node.get_parameter(name) == values.second) {
      found.push_back(values.first);
    }
  }
  return found;
}

Wiring wiring_of(const model_controller::Params & given, const Model & model)
{
  Wiring wiring{given, {}, {}, {}, {}};
  const std::vector<std::string> names = joint_names(model);
  if (!given.joints.empty() && given.joints != names) {
    throw Refusal(
      "the model of robot " + quoted(model.robot) + " has the joints " + joined(names) + ", not " +
      joined(given.joints) + "; load the controller again for other joints");
  }
  const std::vector<std::string> & listed = given.command_interfaces;
  const std::set<std::string> kinds(listed.begin(), listed.end());
  const bool lacks_position = kinds.count("velocity") > kinds.count("position");
  if (listed.size() != kinds.size() || kinds.count("effort") == 0 || lacks_position) {
    throw Refusal(
      "parameter 'command_interfaces' is [" + joined(given.command_interfaces) +
      "]; give [effort], [position, effort] or [position, velocity, effort]");
  }
  if (given.actuator_space) {
    if (kinds.size() > 1) {
      throw Refusal("actuator_space needs command_interfaces [effort]: positions are of joints");
    }
    std::vector<double> coupling = given.actuator_coupling;
    if (coupling.empty() && model.transmissions != nullptr) {
      const std::size_t size = model.joint_count * model.joint_count;
      coupling.assign(model.transmissions, model.transmissions + size);
    }
    wiring.to_actuators = inverse_transpose(coupling, model.joint_count);
  } else if (!given.actuator_coupling.empty()) {
    throw Refusal(
      "parameter 'actuator_coupling' is given but 'actuator_space' is false; set it to true, "
      "or leave the coupling empty");
  }
  const std::vector<double> q(model.joint_count, 0.0);  // any: sensors move with their links
  const Frames frames(model, q.data());
  const auto sense = [&wiring](const std::string & quantity) {
    for (const char * axis : {".x", ".y", ".z"}) {
      wiring.sensed.push_back(quantity + axis);
    }
  };
  if (!given.force_torque_sensor.empty()) {
    sense(given.force_torque_sensor + "/force");
    sense(given.force_torque_sensor + "/torque");
    wiring.of_wrench = wrench_matrix_of(model, frames, given.force_torque_frame);
  }
  if (!given.imu.empty()) {
    sense(given.imu + "/linear_acceleration");
    const std::string frame = given.imu_frame.empty() ? model.root : given.imu_frame;
    if (!model.frame_list[frames.row(frame)].fixed_to_root) {
      throw Refusal("frame " + quoted(frame) + " moves against " + quoted(model.root));
    }
    wiring.of_imu = frames.axes(frame).linear();
  }
  return wiring;
}

bool is_of_load(const std::string & name)
{
  return name.rfind("payload.", 0) == 0 || name == "gravity" || name == "compensate_gravity";
}

}  // namespace robot_dynamics_controllers
