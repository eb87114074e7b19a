#include "model_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "model.hpp"
#include "urdf/model.h"

namespace @package@
{
namespace
{

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<double, 9>;
using Moments = std::array<double, 6>;

// Copies of one model differ by the rounding of numbers and rotations, 1e-15; a calibration
// changes lengths by 1e-5 and more. Angles are relative to 1 rad.
constexpr double TOLERANCE = 1e-6;
constexpr double LEAST_LENGTH = 1e-9;   // m; shorter vectors have no direction
constexpr double LEAST_MOMENT = 1e-15;  // kg m^2

std::string quoted(const std::string & name) { return "'" + name + "'"; }

/// Return a number with as many digits as a difference takes.
std::string digits(double x)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.7g", x);
  return text;
}

template <std::size_t SIZE>
std::string list(const std::array<double, SIZE> & values)
{
  std::string text;
  for (const double x : values) {
    text += (text.empty() ? "(" : ", ") + digits(x);
  }
  return text + ")";
}

/// Return whether two arrays are equal within a tolerance relative to a scale.
template <std::size_t SIZE>
bool alike(
  const std::array<double, SIZE> & a, const std::array<double, SIZE> & b, double scale)
{
  for (std::size_t i = 0; i < SIZE; ++i) {
    if (!(std::abs(a[i] - b[i]) <= TOLERANCE * scale)) {
      return false;
    }
  }
  return true;
}

template <std::size_t SIZE>
double size_of(const std::array<double, SIZE> & values)
{
  double size = 0.0;
  for (const double x : values) {
    size = std::max(size, std::abs(x));
  }
  return size;
}

Vector3 vector_of(const urdf::Vector3 & v) { return {{v.x, v.y, v.z}}; }

Matrix3 rotation_of(const urdf::Rotation & r)
{
  const double x = r.x;
  const double y = r.y;
  const double z = r.z;
  const double w = r.w;
  return {
    {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
     2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
     2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)}};
}

/// Return the moments about the mass centre in link axes.
Moments moments_of(const urdf::Inertial & inertial)
{
  const Matrix3 R = rotation_of(inertial.origin.rotation);
  const Matrix3 own = {
    {inertial.ixx, inertial.ixy, inertial.ixz, inertial.ixy, inertial.iyy, inertial.iyz,
     inertial.ixz, inertial.iyz, inertial.izz}};
  Matrix3 turned{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t l = 0; l < 3; ++l) {
          turned[3 * i + j] += R[3 * i + k] * own[3 * k + l] * R[3 * j + l];
        }
      }
    }
  }
  return {{turned[0], turned[1], turned[2], turned[4], turned[5], turned[8]}};
}

const char * type_of(const urdf::Joint & joint)
{
  switch (joint.type) {
    case urdf::Joint::REVOLUTE: return "revolute";
    case urdf::Joint::CONTINUOUS: return "continuous";
    case urdf::Joint::PRISMATIC: return "prismatic";
    case urdf::Joint::FIXED: return "fixed";
    case urdf::Joint::FLOATING: return "floating";
    case urdf::Joint::PLANAR: return "planar";
    default: return "unknown";
  }
}

std::string link_difference(const ModelLink & model, const urdf::Model & robot)
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
  const Vector3 com = vector_of(found->inertial->origin.position);
  if (!alike(com, model.com, std::max(size_of(model.com), LEAST_LENGTH / TOLERANCE))) {
    return link + " has its mass centre at " + list(com) + " m, not " + list(model.com) + " m";
  }
  const Moments moments = moments_of(*found->inertial);
  if (!alike(moments, model.inertia, std::max(size_of(model.inertia), LEAST_MOMENT / TOLERANCE))) {
    return link + " has moments of inertia xx, xy, xz, yy, yz, zz of " + list(moments) +
           " kg m^2, not " + list(model.inertia) + " kg m^2";
  }
  return "";
}

std::string joint_difference(const ModelJoint & model, const urdf::Model & robot)
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
  const Vector3 position = vector_of(origin.position);
  if (!alike(position, model.position, std::max(size_of(model.position), LEAST_LENGTH / TOLERANCE))) {
    return joint + " has its origin at " + list(position) + " m, not " + list(model.position) +
           " m";
  }
  const Matrix3 rotation = rotation_of(origin.rotation);
  if (!alike(rotation, model.rotation, 1.0)) {
    return joint + " has an origin rotated by the matrix " + list(rotation) + ", not " +
           list(model.rotation);
  }
  if (type == "fixed") {
    return "";
  }
  Vector3 axis = vector_of(found->axis);
  const double length = std::hypot(axis[0], axis[1], axis[2]);
  for (double & x : axis) {
    x /= length > 0.0 ? length : 1.0;
  }
  if (!alike(axis, model.axis, 1.0)) {
    return joint + " has the axis " + list(axis) + ", not " + list(model.axis);
  }
  const std::string leader = found->mimic ? found->mimic->joint_name : "";
  const std::array<double, 2> law = {
    {found->mimic ? found->mimic->multiplier : 1.0, found->mimic ? found->mimic->offset : 0.0}};
  const std::array<double, 2> modelled = {{model.multiplier, model.offset}};
  if (leader != model.leader || !alike(law, modelled, std::max(size_of(modelled), 1.0))) {
    return joint + " follows " + quoted(leader) + " by multiplier and offset " + list(law) +
           ", not " + quoted(model.leader) + " by " + list(modelled);
  }
  return "";
}

/// Return whether the exported root moves or is turned, so that gravity is another one.
std::string root_difference(const urdf::Model & robot)
{
  auto link = robot.getLink(ROOT);
  if (!link) {
    return "link " + quoted(ROOT) + " is missing";
  }
  while (link->parent_joint) {
    const urdf::Joint & joint = *link->parent_joint;
    const Matrix3 none = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    const Matrix3 rotation = rotation_of(joint.parent_to_joint_origin_transform.rotation);
    if (joint.type != urdf::Joint::FIXED || !alike(rotation, none, 1.0)) {
      return "joint " + quoted(joint.name) + " moves or turns " + quoted(ROOT) +
             ", the root of the exported model";
    }
    link = robot.getLink(joint.parent_link_name);
  }
  return "";
}

/// Return a link with mass that the exported robot carries, but does not know.
std::string added_link(const urdf::Model & robot)
{
  std::map<std::string, bool> moves;  // links of the model, and whether a joint moves them
  moves[ROOT] = false;
  for (const ModelJoint & joint : TREE) {  // parents stand first
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
      return "link " + quoted(name) + " of " + digits(link->inertial->mass) +
             " kg is carried by " + quoted(carrier->first) + " and not in the model";
    }
  }
  return "";
}

}  // namespace

std::string first_difference(const std::string & description)
{
  if (description.empty()) {
    return "there is none";
  }
  urdf::Model robot;
  if (!robot.initString(description)) {
    return "it is no URDF";
  }
  std::string found = root_difference(robot);
  for (const ModelJoint & joint : TREE) {
    found = found.empty() ? joint_difference(joint, robot) : found;
  }
  for (const ModelLink & link : LINKS) {
    found = found.empty() ? link_difference(link, robot) : found;
  }
  return found.empty() ? added_link(robot) : found;
}

}  // namespace @package@
