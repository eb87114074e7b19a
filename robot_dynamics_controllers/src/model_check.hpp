// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#ifndef MODEL_CHECK_HPP_
#define MODEL_CHECK_HPP_

#include <string>

#include "model_library.hpp"

namespace robot_dynamics_controllers
{

/// Return the first difference of a robot_description from the model that matters for its efforts
/// and limits, in words; empty without one.
std::string first_difference(const Model & model, const std::string & description);

}  // namespace robot_dynamics_controllers

#endif  // MODEL_CHECK_HPP_
