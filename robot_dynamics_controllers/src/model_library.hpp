// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// A robot: a shared library of `robot-dynamics export model`, checked and loaded.

#ifndef MODEL_LIBRARY_HPP_
#define MODEL_LIBRARY_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "robot_dynamics_controllers/robot_model.h"

namespace robot_dynamics_controllers
{

using Model = struct robot_dynamics_model;  // a variable has the same name
using Layout = robot_dynamics_layout;
using Field = robot_dynamics_field;

/// A loaded library. A file that is replaced or overwritten meanwhile does not affect it.
class ModelLibrary
{
public:
  /// Load a file. Throws Refusal if it cannot be read, may be written by others, or is no model.
  explicit ModelLibrary(const std::string & path);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary &) = delete;
  ModelLibrary & operator=(const ModelLibrary &) = delete;

  const Model & operator*() const { return *model_; }
  const Model * operator->() const { return model_; }

private:
  ModelLibrary() = default;

  int file_ = -1;    // file descriptor
  int memory_ = -1;  // that of the copy in memory, which is loaded
  void * library_ = nullptr;
  const Model * model_ = nullptr;
};

/// Return the first difference of a robot_description from the model that matters for its efforts
/// and limits, in words; empty without one.
std::string first_difference(const Model & model, const std::string & description);

/// Return a field. Throws Refusal if there is none.
const Field & field_of(const Layout & layout, const std::string & name);

/// Return the offset of a field. Throws Refusal if there is none.
inline std::size_t offset_of(const Layout & layout, const std::string & name)
{
  return field_of(layout, name).offset;
}

/// Return the first values of a vector.
std::vector<double> initial(const Layout & layout);

/// Return the names of the joints.
std::vector<std::string> joint_names(const Model & model);

/// Return the unit of a quantity of a joint: "position", "velocity", "effort", or its own name.
std::string unit(const Model & model, std::size_t joint, const std::string & quantity);

/// Return the sentence of a cause, of `causes` or `refusals`; a joint without number has no name.
std::string sentence(
  const Model & model, const robot_dynamics_cause & cause, double joint, double value,
  double limit);

/// Return the sentence about what a check accepts but notices; empty for none.
std::string notice(const Model & model, const std::vector<double> & result);

/// Throw Refusal with the sentence of the result of a check, unless that is empty.
void throw_refusal(
  const Model & model, const std::vector<double> & result, const std::string & subject = "");

}  // namespace robot_dynamics_controllers

#endif  // MODEL_LIBRARY_HPP_
