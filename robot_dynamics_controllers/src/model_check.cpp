// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "model_check.hpp"

#include <Eigen/Geometry>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "refusal.hpp"
#include "urdf/model.h"

namespace robot_dynamics_controllers
{
namespace
{

// Copies of one model differ by the rounding of numbers and rotations, 1e-15; a calibration
// changes lengths by 1e-5 and more. Angles are relative to 1 rad.
constexpr double TOLERANCE = 1e-6;
constexpr double LEAST_LENGTH = 1e-9;   // m; shorter vectors have no direction
constexpr double LEAST_MOMENT = 1e-15;  // kg m^2
constexpr double UNLIMITED = std::numeric_limits<double>::infinity();

using Numbers = Eigen::Ref<const Eigen::VectorXd>;

/// Return numbers with as many digits as a difference takes.
std::string digits(double x) { return text(x, "%.7g"); }

std::string digits(const Numbers & values) { return "(" + list(values, "%.7g") + ")"; }

/// Return whether numbers are equal within a tolerance relative to the largest, or a scale.
bool alike(const Numbers & a, const Numbers & b, double least_scale)
{
  const double scale = std::max(b.lpNorm<Eigen::Infinity>(), least_scale);
  return ((a - b).array().abs() <= TOLERANCE * scale).all();
}

Eigen::Vector3d vector_of(const urdf::Vector3 & v) { return {v.x, v.y, v.z}; }

Eigen::Matrix3d rotation_of(const urdf::Rotation & r)
{
  return Eigen::Quaterniond(r.w, r.x, r.y, r.z).toRotationMatrix();
}

/// Return the moments about the mass centre in link axes: xx, xy, xz, yy, yz, zz.
Eigen::VectorXd moments_of(const urdf::Inertial & inertial)
{
  const Eigen::Matrix3d R = rotation_of(inertial.origin.rotation);
  Eigen::Matrix3d own;
  own << inertial.ixx, inertial.ixy, inertial.ixz, inertial.ixy, inertial.iyy, inertial.iyz,
    inertial.ixz, inertial.iyz, inertial.izz;
  const Eigen::Matrix3d I = R * own * R.transpose();
  Eigen::VectorXd moments(6);
  moments << I(0, 0), I(0, 1), I(0, 2), I(1, 1), I(1, 2), I(2, 2);
  return moments;
}

const char * type_of(const urdf::Joint & joint)
{
  switch (joint.type) {
    case urdf::Joint::REVOLUTE:
      return "revolute";
    case urdf::Joint::CONTINUOUS:
      return "continuous";
    case urdf::Joint::PRISMATIC:
      return "prismatic";
    case urdf::Joint::FIXED:
      return "fixed";
    case urdf::Joint::FLOATING:
      return "floating";
    case urdf::Joint::PLANAR:
      return "planar";
    default:
      return "unknown";
  }
}

/// Return that something is another one than in the model, or nothing.
std::string difference(
  const std::string & what, const Numbers & found, const Numbers & model, double least_scale,
  const std::string & unit)
{
  return alike(found, model, least_scale)
           ? ""
           : what + " " + digits(found) + unit + ", not " + digits(model) + unit;
}

std::string link_difference(const robot_dynamics_link & model, const urdf::Model & robot)
{
  const std::string link = "link " + quoted(model.name);
  const auto found = robot.getLink(model.name);
  if (!found) {
    return model.mass > 0.0 ? link + " is missing" : "";
  }
  const double mass = found->inertial ? found->inertial->mass : 0.0;
  if (!(std::abs(mass - model.mass) <= TOLERANCE * model.mass)) {
    return link + " has a mass of " + digits(mass) + " kg, not " + digits(model.mass) + " kg";
  }
  if (!found->inertial) {
    return "";
  }
  const std::string centre = difference(
    link + " has its mass centre at", vector_of(found->inertial->origin.position),
    Eigen::Map<const Eigen::Vector3d>(model.com), LEAST_LENGTH / TOLERANCE, " m");
  return !centre.empty()
           ? centre
           : difference(
               link + " has moments of inertia xx, xy, xz, yy, yz, zz of",
               moments_of(*found->inertial), Eigen::Map<const Eigen::VectorXd>(model.inertia, 6),
               LEAST_MOMENT / TOLERANCE, " kg m^2");
}

/// Return lower, upper, velocity and effort limit as they are read: 0 means that one is unknown.
std::array<double, 4> limits_of(const urdf::Joint & joint)
{
  std::array<double, 4> found = {-UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED};
  if (!joint.limits) {
    return found;
  }
  const bool bounded = joint.type != urdf::Joint::CONTINUOUS &&
                       !(joint.limits->lower == 0.0 && joint.limits->upper == 0.0);
  if (bounded) {
    found[0] = joint.limits->lower;
    found[1] = joint.limits->upper;
  }
  found[2] = joint.limits->velocity > 0.0 ? joint.limits->velocity : UNLIMITED;
  found[3] = joint.limits->effort > 0.0 ? joint.limits->effort : UNLIMITED;
  return found;
}

std::string limit_difference(const robot_dynamics_tree_joint & model, const urdf::Joint & joint)
{
  static const std::array<const char *, 4> names = {"lower", "upper", "velocity", "effort"};
  const std::array<double, 4> found = limits_of(joint);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double expected = model.limits[k];
    const bool same = found[k] == expected || std::abs(found[k] - expected) <=
                                                TOLERANCE * std::max(std::abs(expected), 1e-3);
    if (!same) {
      return "joint " + quoted(model.name) + " has the " + names[k] + " limit " + digits(found[k]) +
             ", not " + digits(expected);
    }
  }
  return "";
}

std::string joint_difference(const robot_dynamics_tree_joint & model, const urdf::Model & robot)
{
  const std::string joint = "joint " + quoted(model.name);
  const auto found = robot.getJoint(model.name);
  if (!found) {
    return joint + " is missing";
  }
  const std::string type = type_of(*found);
  if (type != model.type) {
    return joint + " is " + type + ", not " + model.type;
  }
  if (found->parent_link_name != model.parent || found->child_link_name != model.child) {
    return joint + " connects " + quoted(found->parent_link_name) + " and " +
           quoted(found->child_link_name) + ", not " + quoted(model.parent) + " and " +
           quoted(model.child);
  }
  const urdf::Pose & origin = found->parent_to_joint_origin_transform;
  std::string other = difference(
    joint + " has its origin at", vector_of(origin.position),
    Eigen::Map<const Eigen::Vector3d>(model.position), LEAST_LENGTH / TOLERANCE, " m");
  const Eigen::Matrix3d rows = rotation_of(origin.rotation).transpose();  // its columns are rows
  if (other.empty()) {
    other = difference(
      joint + " has an origin rotated by the matrix",
      Eigen::Map<const Eigen::VectorXd>(rows.data(), 9),
      Eigen::Map<const Eigen::VectorXd>(model.rotation, 9), 1.0, "");
  }
  if (!other.empty() || type == "fixed") {
    return other;
  }
  other = difference(
    joint + " has the axis", vector_of(found->axis).normalized(),
    Eigen::Map<const Eigen::Vector3d>(model.axis), 1.0, "");
  if (!other.empty()) {
    return other;
  }
  const std::string leader = found->mimic ? found->mimic->joint_name : "";
  const Eigen::Vector2d law(
    found->mimic ? found->mimic->multiplier : 1.0, found->mimic ? found->mimic->offset : 0.0);
  const Eigen::Vector2d known(model.multiplier, model.offset);
  if (leader != model.leader || !alike(law, known, 1.0)) {
    return joint + " follows " + quoted(leader) + " by multiplier and offset " + digits(law) +
           ", not " + quoted(model.leader) + " by " + digits(known);
  }
  return limit_difference(model, *found);
}

/// Return whether the root of the model moves or is turned, so that gravity is another one.
std::string root_difference(const std::string & root, const urdf::Model & robot)
{
  auto link = robot.getLink(root);
  if (!link) {
    return "link " + quoted(root) + " is missing";
  }
  while (link->parent_joint) {
    const urdf::Joint & joint = *link->parent_joint;
    const Eigen::Matrix3d R = rotation_of(joint.parent_to_joint_origin_transform.rotation);
    if (joint.type != urdf::Joint::FIXED || !R.isIdentity(TOLERANCE)) {
      return "joint " + quoted(joint.name) + " moves or turns " + quoted(root) +
             ", the root of the model";
    }
    link = robot.getLink(joint.parent_link_name);
  }
  return "";
}

/// Return a link with mass that the robot carries, but the model does not know.
std::string added_link(const Model & model, const urdf::Model & robot)
{
  std::map<std::string, bool> moves;  // links of the model, and whether a joint moves them
  moves[model.root] = false;
  for (std::size_t i = 0; i < model.tree_joint_count; ++i) {  // parents stand first
    const robot_dynamics_tree_joint & joint = model.tree[i];
    moves[joint.child] = moves[joint.parent] || std::string(joint.type) != "fixed";
  }
  for (const auto & [name, link] : robot.links_) {
    if (moves.count(name) > 0 || !link->inertial || !(link->inertial->mass > 0.0)) {
      continue;
    }
    auto at = robot.getLink(name);
    while (at && at->parent_joint && moves.count(at->name) == 0) {
      at = robot.getLink(at->parent_joint->parent_link_name);
    }
    const auto carrier = at ? moves.find(at->name) : moves.end();
    if (carrier != moves.end() && carrier->second) {
      return "link " + quoted(name) + " of " + digits(link->inertial->mass) + " kg is carried by " +
             quoted(carrier->first) + " and not in the model";
    }
  }
  return "";
}

}  // namespace

std::string first_difference(const Model & model, const std::string & description)
{
  if (description.empty()) {
    return "there is none";
  }
  urdf::Model robot;
  if (!robot.initString(description)) {
    return "it is no URDF";
  }
  std::string found = root_difference(model.root, robot);
  for (std::size_t i = 0; i < model.tree_joint_count && found.empty(); ++i) {
    found = joint_difference(model.tree[i], robot);
  }
  for (std::size_t i = 0; i < model.link_count && found.empty(); ++i) {
    found = link_difference(model.links[i], robot);
  }
  return found.empty() ? added_link(model, robot) : found;
}

}  // namespace robot_dynamics_controllers
