// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include <Eigen/Geometry>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model_library.hpp"
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

using Numbers = Eigen::Ref<const Eigen::VectorXd>;

/// Neighbouring numbers of a link or a joint that are compared together.
struct Part
{
  const char * words;
  Eigen::Index size;
  double least_scale;  // differences are relative to the largest number, or this
  const char * unit;
};

const std::vector<Part> LINK_PARTS = {
  {"a mass of", 1, 0.0, " kg"},
  {"its mass centre at", 3, LEAST_LENGTH / TOLERANCE, " m"},
  {"moments of inertia xx, xy, xz, yy, yz, zz of", 6, LEAST_MOMENT / TOLERANCE, " kg m^2"}};
const std::vector<Part> JOINT_PARTS = {
  {"its origin at", 3, LEAST_LENGTH / TOLERANCE, " m"},
  {"an origin rotated by the matrix", 9, 1.0, ""},
  {"the axis", 3, 1.0, ""},
  {"a multiplier and an offset of", 2, 1.0, ""},
  {"the lower limit", 1, 1e-3, ""},
  {"the upper limit", 1, 1e-3, ""},
  {"the velocity limit", 1, 1e-3, ""},
  {"the effort limit", 1, 1e-3, ""}};

/// Return numbers with as many digits as a difference takes.
std::string digits(const Numbers & values)
{
  const std::string line = list(values, "%.7g");
  return values.size() == 1 ? line : "(" + line + ")";
}

/// Return the first part in which a link or joint is another one than in the model, or nothing.
std::string difference(
  const std::string & name, const std::vector<Part> & parts, const Numbers & found,
  const Numbers & model)
{
  Eigen::Index at = 0;
  for (const Part & part : parts) {
    const auto a = found.segment(at, part.size);
    const auto b = model.segment(at, part.size);
    const double scale = std::max(b.lpNorm<Eigen::Infinity>(), part.least_scale);
    // An infinite limit is none
    if (std::isinf(scale) ? a != b : !((a - b).array().abs() <= TOLERANCE * scale).all()) {
      return name + " has " + part.words + " " + digits(a) + part.unit + ", not " + digits(b) +
             part.unit;
    }
    at += part.size;
  }
  return "";
}

Eigen::Vector3d vector_of(const urdf::Vector3 & v) { return {v.x, v.y, v.z}; }

Eigen::Matrix3d rotation_of(const urdf::Rotation & r)
{
  return Eigen::Quaterniond(r.w, r.x, r.y, r.z).toRotationMatrix();
}

/// Return the numbers of a link in the order of its parts.
Eigen::VectorXd numbers_of(const urdf::Link & link)
{
  Eigen::VectorXd found = Eigen::VectorXd::Zero(10);
  if (link.inertial) {
    const urdf::Inertial & x = *link.inertial;
    const Eigen::Matrix3d R = rotation_of(x.origin.rotation);
    Eigen::Matrix3d own;
    own << x.ixx, x.ixy, x.ixz, x.ixy, x.iyy, x.iyz, x.ixz, x.iyz, x.izz;
    const Eigen::Matrix3d I = R * own * R.transpose();
    found << x.mass, vector_of(x.origin.position), I(0, 0), I(0, 1), I(0, 2), I(1, 1), I(1, 2),
      I(2, 2);
  }
  return found;
}

/// Return the numbers of a joint in the order of its parts; a limit of 0 means that it is unknown.
Eigen::VectorXd numbers_of(const urdf::Joint & joint)
{
  const urdf::Pose & origin = joint.parent_to_joint_origin_transform;
  const Eigen::Matrix3d rows = rotation_of(origin.rotation).transpose();  // its columns are rows
  const bool fixed = joint.type == urdf::Joint::FIXED;
  Eigen::Vector4d limits(-INFINITY, INFINITY, INFINITY, INFINITY);
  if (joint.limits && !fixed) {
    const urdf::JointLimits & x = *joint.limits;
    if (joint.type != urdf::Joint::CONTINUOUS && !(x.lower == 0.0 && x.upper == 0.0)) {
      limits.head<2>() << x.lower, x.upper;
    }
    limits[2] = x.velocity > 0.0 ? x.velocity : INFINITY;
    limits[3] = x.effort > 0.0 ? x.effort : INFINITY;
  }
  Eigen::VectorXd found(21);
  found << vector_of(origin.position), Eigen::Map<const Eigen::VectorXd>(rows.data(), 9),
    vector_of(joint.axis).normalized(), joint.mimic ? joint.mimic->multiplier : 1.0,
    joint.mimic ? joint.mimic->offset : 0.0, limits;
  return found;
}

std::string link_difference(const robot_dynamics_link & model, const urdf::Model & robot)
{
  const std::string link = "link " + quoted(model.name);
  const auto found = robot.getLink(model.name);
  if (!found) {
    return model.mass > 0.0 ? link + " is missing" : "";
  }
  Eigen::VectorXd numbers(10);
  numbers << model.mass, Eigen::Map<const Eigen::Vector3d>(model.com),
    Eigen::Map<const Eigen::Matrix<double, 6, 1>>(model.inertia);
  return difference(link, LINK_PARTS, numbers_of(*found), numbers);
}

std::string joint_difference(const robot_dynamics_tree_joint & model, const urdf::Model & robot)
{
  const std::string joint = "joint " + quoted(model.name);
  const auto found = robot.getJoint(model.name);
  if (!found) {
    return joint + " is missing";
  }
  static constexpr const char * TYPES[] = {
    // by the numbers of urdf::Joint
    "unknown", "revolute", "continuous", "prismatic", "floating", "planar", "fixed"};
  const std::string type = TYPES[found->type];
  if (type != model.type) {
    return joint + " is " + type + ", not " + model.type;
  }
  if (found->parent_link_name != model.parent || found->child_link_name != model.child) {
    return joint + " connects " + quoted(found->parent_link_name) + " and " +
           quoted(found->child_link_name) + ", not " + quoted(model.parent) + " and " +
           quoted(model.child);
  }
  const std::string leader = found->mimic ? found->mimic->joint_name : "";
  if (leader != model.leader) {
    return joint + " follows " + quoted(leader) + ", not " + quoted(model.leader);
  }
  Eigen::VectorXd numbers = numbers_of(*found);
  const Eigen::VectorXd own = numbers;
  numbers.head<12>() << Eigen::Map<const Eigen::Vector3d>(model.position),
    Eigen::Map<const Eigen::Matrix<double, 9, 1>>(model.rotation);
  if (type != "fixed") {
    numbers.tail<9>() << Eigen::Map<const Eigen::Vector3d>(model.axis), model.multiplier,
      model.offset, Eigen::Map<const Eigen::Vector4d>(model.limits);
  }
  return difference(joint, JOINT_PARTS, own, numbers);
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
      return "link " + quoted(name) + " of " + text(link->inertial->mass, "%.7g") +
             " kg is carried by " + quoted(carrier->first) + " and not in the model";
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
