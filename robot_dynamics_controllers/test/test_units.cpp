// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Parts of the controller that need no controller_manager, with a model of one joint.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "messages.hpp"
#include "model_library.hpp"
#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

const robot_dynamics_joint JOINT = {"turn", 1, -1.0, 2.0, 3.0, 4.0};
const robot_dynamics_link LINK = {"arm", 2.0, {0.1, 0.0, 0.0}, {1.0, 0.0, 0.0, 1.0, 0.0, 1.0}};
const robot_dynamics_tree_joint TREE = {
  "turn",
  "revolute",
  "base",
  "arm",
  {0.0, 0.0, 0.5},
  {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0},
  {0.0, 0.0, 1.0},
  "",
  1.0,
  0.0,
  {-1.0, 2.0, 3.0, 4.0}};
const robot_dynamics_quantity QUANTITIES[] = {{"position", "rad", "m"}, {"effort", "N m", "N"}};
const robot_dynamics_frame FRAMES[] = {{"base", 0, 1}, {"arm", 1, 0}};

const char URDF[] = R"(<robot name="r"><link name="base"/><link name="arm"><inertial>
<origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
<origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="2" velocity="3" effort="4"/></joint></robot>)";

/// Write a pose into a row: rotation by an angle about z, row by row, and position.
void write_pose(double angle, double height, double * row)
{
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  const double values[] = {c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, height};
  std::memcpy(row, values, sizeof(values));
}

Model model()
{
  Model found = {};
  found.robot = "r";
  found.joint_count = 1;
  found.joints = &JOINT;
  found.root = "base";
  found.end_effector = "arm";
  found.link_count = 1;
  found.links = &LINK;
  found.tree_joint_count = 1;
  found.tree = &TREE;
  found.quantity_count = 2;
  found.quantities = QUANTITIES;
  found.frame_count = 2;
  found.frame_list = FRAMES;
  found.frames = [](const double * q, double * poses) {
    write_pose(0.0, 0.0, poses);
    write_pose(q[0], 0.5, poses + 12);
  };
  return found;
}

std::string refusal_of(const std::function<void()> & call)
{
  try {
    call();
  } catch (const Refusal & refusal) {
    return refusal.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string & from, const std::string & to)
{
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelCheck, accepts_the_robot_of_the_model) { EXPECT_EQ(first_difference(model(), URDF), ""); }

TEST(ModelCheck, names_the_first_difference)
{
  const auto difference = [](const char * from, const char * to) {
    return first_difference(model(), replaced(URDF, from, to));
  };
  EXPECT_EQ(
    difference("value=\"2\"", "value=\"2.2\""), "link 'arm' has a mass of 2.2 kg, not 2 kg");
  EXPECT_EQ(
    difference("effort=\"4\"", "effort=\"40\""), "joint 'turn' has the effort limit 40, not 4");
  EXPECT_EQ(
    difference("xyz=\"0 0 0.5\"", "xyz=\"0 0 0.6\""),
    "joint 'turn' has its origin at (0, 0, 0.6) m, not (0, 0, 0.5) m");
  EXPECT_EQ(
    difference("axis xyz=\"0 0 1\"", "axis xyz=\"0 1 0\""),
    "joint 'turn' has the axis (0, 1, 0), not (0, 0, 1)");
  EXPECT_EQ(difference("revolute", "prismatic"), "joint 'turn' is prismatic, not revolute");
  EXPECT_EQ(first_difference(model(), ""), "there is none");
  EXPECT_EQ(first_difference(model(), "<robot"), "it is no URDF");
}

TEST(ModelLibrary, refuses_what_is_no_safe_library)
{
  const std::string path = ::testing::TempDir() + "model_" + std::to_string(::getpid()) + ".so";
  const auto refusal = [&path] { return refusal_of([&path] { ModelLibrary library(path); }); };
  EXPECT_NE(refusal().find("cannot be read (No such file or directory)"), std::string::npos);
  std::ofstream(path) << "no library";
  ::chmod(path.c_str(), 0666);
  EXPECT_NE(refusal().find("may be written by others"), std::string::npos);
  ::chmod(path.c_str(), 0644);
  EXPECT_NE(refusal().find("cannot be loaded ("), std::string::npos);
  std::stringstream program;
  program << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  std::ofstream(path, std::ios::binary) << program.str().substr(0, program.str().size() / 2);
  EXPECT_NE(refusal().find("was cut off; copy it again"), std::string::npos);
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(refusal().find("is no file"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_NE(refusal_of([] { ModelLibrary library("/tmp"); }).find("is no file"), std::string::npos);
  EXPECT_NE(refusal_of([] { ModelLibrary library(""); }).find("is empty"), std::string::npos);
}

TEST(Names, stay_in_their_line)
{
  EXPECT_EQ(quoted("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(joined({"größe", "\x1b[0m"}), "größe, \\x1b[0m");
}

TEST(Sentence, fills_places_once)
{
  const robot_dynamics_joint named = {"{value}", 1, 0.0, 0.0, 0.0, 0.0};
  Model robot = model();
  robot.joints = &named;
  const robot_dynamics_cause cause = {
    "slow", "joint '{joint}' is {value} off", "position", "", "beyond {limit}", "%.3g", 999.5, 1e6};
  EXPECT_EQ(sentence(robot, cause, 0.0, 0.25, 2.0), "joint '{value}' is 0.25 rad off; beyond 2");
}

TEST(Sentence, has_no_exponent_below_a_million)
{
  const robot_dynamics_cause cause = {
    "heavy", "{value}, {limit}", "kg", "effort", "", "%.3g", 999.5, 1e6};
  EXPECT_EQ(sentence(model(), cause, 0.0, 3000.0, 2e6), "3000 kg, 2e+06 N m");
  EXPECT_EQ(sentence(model(), cause, 0.0, -0.5, 7.0), "-0.5 kg, 7 N m");
}

TEST(Messages, matches_a_reference_by_name)
{
  sensor_msgs::msg::JointState msg;
  msg.name = {"other", "turn"};
  msg.position = {9.0, 0.1};
  msg.velocity = {9.0, 0.2};
  EXPECT_EQ(reference_of(model(), msg), (std::vector<double>{0.1, 0.2, 0.0, 0.0}));
  msg.position[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
    refusal_of([&] { reference_of(model(), msg); }),
    "a number of joint 'turn' is not finite, or too large");
  msg.name[1] = "elbow";
  EXPECT_EQ(refusal_of([&] { reference_of(model(), msg); }), "joint 'turn' is not named");
}

TEST(Messages, turns_targets_into_the_root_link)
{
  const Model robot = model();
  const double q = M_PI / 2.0;
  const Frames frames(robot, &q);
  geometry_msgs::msg::PoseStamped pose;
  pose.header.frame_id = "arm";
  pose.pose.position.x = 1.0;
  const Eigen::Isometry3d target = target_of(frames, pose);
  EXPECT_NEAR((target.translation() - Eigen::Vector3d(0.0, 1.0, 0.5)).norm(), 0.0, 1e-15);
  pose.pose.orientation.w = 1.1;
  EXPECT_EQ(
    refusal_of([&] { target_of(frames, pose); }),
    "the quaternion has the length 1.1; give one of length 1");
  geometry_msgs::msg::TwistStamped twist;
  twist.header.frame_id = "arm";
  twist.twist.linear.x = 1.0;
  EXPECT_NEAR(target_of(frames, twist)[1], 1.0, 1e-15);
  twist.header.frame_id = "leg";
  EXPECT_EQ(
    refusal_of([&] { target_of(frames, twist); }),
    "no frame 'leg' in robot 'r' (frames: base, arm)");
}

TEST(Messages, takes_a_measured_wrench_in_a_frame_of_the_end_effector_alone)
{
  const Model robot = model();
  const double q = 0.3;
  const Frames frames(robot, &q);
  geometry_msgs::msg::WrenchStamped msg;
  msg.wrench.force.x = 2.0;
  const Vector6 measured = vector_of(msg.wrench);
  EXPECT_DOUBLE_EQ((wrench_matrix_of(robot, frames, "") * measured)[0], -2.0);
  EXPECT_EQ(
    refusal_of([&] { wrench_matrix_of(robot, frames, "base"); }),
    "frame 'base' moves against 'arm'");
}

TEST(Exchange, passes_the_latest_numbers_once)
{
  Exchange exchange;
  exchange.resize(2);
  EXPECT_EQ(exchange.take(), nullptr);
  const double first[] = {1.0, 2.0};
  const double second[] = {3.0, 4.0};
  exchange.put(first);
  exchange.put(second);
  const double * taken = exchange.take();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken[0], 3.0);
  EXPECT_EQ(taken[1], 4.0);
  EXPECT_EQ(exchange.take(), nullptr);
}

TEST(Reasons, silence_no_other_and_repeat_after_a_while)
{
  Reasons reasons;
  const Reasons::Time begin{};
  EXPECT_TRUE(reasons.is_due("payload refused: weighs 3000 kg", begin));
  EXPECT_FALSE(reasons.is_due("payload refused: weighs 2.5e+03 kg", begin));
  EXPECT_TRUE(reasons.is_due("payload refused: joint_1 would need 30 N m", begin));
  EXPECT_TRUE(reasons.is_due("payload refused: joint_2 would need 30 N m", begin));
  EXPECT_FALSE(reasons.is_due("payload refused: weighs -1 kg", begin + std::chrono::seconds(9)));
  EXPECT_TRUE(reasons.is_due("payload refused: weighs 4 kg", begin + std::chrono::seconds(11)));
}

TEST(Reasons, are_cut_short_in_a_storm)
{
  Reasons reasons;
  int logged = 0;
  for (int i = 0; i < 1000; ++i) {
    logged += reasons.is_due("joint_" + std::to_string(i) + " is unknown", {}) ? 1 : 0;
  }
  EXPECT_EQ(logged, 64);
}

TEST(Exchange, keeps_the_numbers_put_last_while_others_are_written)
{
  Exchange exchange;
  exchange.resize(1);
  const double * last = nullptr;
  for (int k = 0; k < 20; ++k) {
    EXPECT_NE(exchange.back(), last);
    last = exchange.back();
    *exchange.back() = k;
    exchange.put_back();
    if (k % 3 > 0) {
      EXPECT_EQ(*exchange.take(), k);
    }
    EXPECT_EQ(*last, k);
  }
}

}  // namespace
}  // namespace robot_dynamics_controllers
