// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <algorithm>
#include <cmath>

#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

constexpr double AT_STOP = 0.01;  // rad or m from the end of a range
constexpr double SATURATED_SHARE = 0.1;
constexpr double LARGEST_MISSED_SHARE = 0.01;
constexpr double LEAST_STOOD = 0.02;   // s, for which states that are late may stand as well
constexpr double LONGEST_DOUBT = 1.0;  // s, for which a state that was not believed is a reason

std::string short_text(double x) { return text(x, "%.3g"); }

std::string joint_name(const Model & model, std::size_t joint)
{
  return "joint " + quoted(model.joints[joint].name);
}

/// Return words for what the hand follows.
std::string target_words(double given)
{
  return given < 0.5 ? "none: held" : given < 1.5 ? "target_pose" : "target_twist";
}

}  // namespace

Snapshot::Snapshot(const Model & model)
: model_(&model),
  n_(model.joint_count),
  values_(SHOWN_NUMBERS + 2 * model.joint_count + model.state.size, 0.0)
{
  std::copy_n(model.state.initial, model.state.size, state());
}

void Snapshot::count_anew()
{
  for (const Shown number : {CYCLES, UNWRITTEN, TIME, LONGEST_PERIOD}) {
    (*this)[number] = 0.0;
  }
  std::fill_n(saturated(), 2 * n_, 0.0);
}

std::string status_of(const Snapshot & snapshot)
{
  return snapshot.model().statuses[static_cast<std::size_t>(snapshot.number("status"))].name;
}

std::string words_for_status(const Snapshot & snapshot)
{
  const auto & status =
    snapshot.model().statuses[static_cast<std::size_t>(snapshot.number("status"))];
  return snapshot.in_task() ? status.words_in_task : status.words;
}

std::string reason_of_blindness(const Snapshot & snapshot)
{
  const Model & model = snapshot.model();
  const double unread = snapshot[UNREAD];
  const bool doubted = snapshot[DOUBT_AGE] < LONGEST_DOUBT;
  if (doubted && unread > 0.5) {
    const std::string others =
      unread > 1.5 ? " and of " + text(unread - 1.0, "%.0f") + " more" : std::string();
    return ": the state of " +
           joint_name(model, static_cast<std::size_t>(snapshot[UNREAD_JOINT])) + others +
           " is not a finite number";
  }
  if (snapshot[STOOD] > LEAST_STOOD) {
    return ": they have not changed for " + short_text(snapshot[STOOD]) +
           " s, although the joints move; does the driver receive any?";
  }
  if (snapshot[LATENESS] > 0.0) {
    return ": they come " + short_text(snapshot[LATENESS]) + " s late";
  }
  if (!doubted) {
    return "";
  }
  const robot_dynamics_cause & flaw = model.flaws[static_cast<std::size_t>(snapshot[FLAW])];
  return ": " +
         sentence(model, flaw, snapshot[FLAW_JOINT], snapshot[FLAW_VALUE], 0.0, flaw.remedy);
}

std::string contact(const Snapshot & snapshot)
{
  const auto i = static_cast<std::size_t>(snapshot.number("touched"));
  const std::string of = " " + unit(snapshot.model(), i, "effort");
  return joint_name(snapshot.model(), i) + " feels an external " +
         short_text(snapshot.field("external")[i]) + of + ", its threshold is " +
         short_text(snapshot.field("threshold")[i]) + of +
         "; a contact, an unknown load, or a wrong model?";
}

std::string reason_of_stop(const Snapshot & snapshot)
{
  const Model & model = snapshot.model();
  const robot_dynamics_cause & cause =
    model.causes[static_cast<std::size_t>(snapshot.number("cause"))];
  const double joint = snapshot.number("stop_joint");
  const auto i = static_cast<std::size_t>(std::max(joint, 0.0));
  const double q = snapshot.field("q")[i];
  const bool at_stop = std::min(q - model.joints[i].lower, model.joints[i].upper - q) < AT_STOP;
  const std::string name = cause.name;
  const bool pushes = name == "tracking_error" || name == "saturation";
  const std::string remedy = pushes && at_stop
                               ? "the joint is at the end of its range (" + short_text(q) + ")"
                               : cause.remedy;
  return sentence(
    model, cause, joint, snapshot.number("stop_value"), snapshot.number("stop_limit"), remedy);
}

std::string farewell(const Snapshot & snapshot, const std::vector<double> & last_effort)
{
  if (!snapshot.sees()) {
    return "deactivated before a state came; nothing was commanded";
  }
  const double joint = snapshot.number("moving_joint");
  const auto i = static_cast<std::size_t>(std::max(joint, 0.0));
  std::string moving;
  if (joint >= 0.0) {
    moving = " although " + joint_name(snapshot.model(), i) + " moves at " +
             short_text(snapshot.number("moving_speed")) + " " +
             unit(snapshot.model(), i, "velocity");
  }
  return "deactivated" + moving + "; feedback ends, and the last command is [" + list(last_effort) +
         "] N m or N, which holds the arm at rest";
}

std::string words_for_load(const Model & model, const std::vector<double> & load)
{
  std::string payload = "none";
  if (load[0] > 0.0) {
    const std::vector<double> com = {load[1] / load[0], load[2] / load[0], load[3] / load[0]};
    payload = text(load[0]) + " kg at (" + list(com) + ") m of " + model.payload_frame;
  }
  const std::vector<double> gravity(load.begin() + 10, load.begin() + 13);
  return "payload " + payload + ", gravity " + list(gravity) + " m/s^2";
}

void fill(control_msgs::msg::JointTrajectoryControllerState & msg, const Snapshot & snapshot)
{
  const std::size_t n = snapshot.model().joint_count;
  const double * desired = snapshot.field("desired");
  msg.header.stamp.sec = static_cast<std::int32_t>(snapshot[STAMP_S]);
  msg.header.stamp.nanosec = static_cast<std::uint32_t>(snapshot[STAMP_NS]);
  msg.joint_names = joint_names(snapshot.model());
  msg.reference.positions = snapshot.joints(desired);
  msg.reference.velocities = snapshot.joints(desired + n);
  msg.reference.accelerations = snapshot.joints(desired + 2 * n);
  msg.feedback.positions = snapshot.joints("q");
  msg.feedback.velocities = snapshot.joints("qd");
  msg.error.positions = snapshot.joints("error");
  msg.error.velocities = snapshot.joints("error_rate");
  msg.output.effort = snapshot.joints("tau");
  msg.speed_scaling_factor = 1.0;
}

void fill(std_msgs::msg::Float64MultiArray & msg, const Snapshot & snapshot)
{
  const auto n = static_cast<std::uint32_t>(snapshot.model().joint_count);
  const std::vector<const char *> rows = {"asked", "proportional", "integral", "soft", "tau"};
  const auto count = static_cast<std::uint32_t>(rows.size());
  msg.layout.dim.resize(2);
  msg.layout.dim[0].label = "asked,feedback,integral,soft_limits,command";
  msg.layout.dim[0].size = count;
  msg.layout.dim[0].stride = count * n;
  msg.layout.dim[1].label = "joints";
  msg.layout.dim[1].size = n;
  msg.layout.dim[1].stride = n;
  msg.data.clear();
  for (const char * row : rows) {
    const double * values = snapshot.field(row);
    msg.data.insert(msg.data.end(), values, values + n);
  }
}

namespace
{

using Status = diagnostic_msgs::msg::DiagnosticStatus;

void add(Status & msg, const std::string & key, const std::string & words)
{
  msg.values.emplace_back();
  msg.values.back().key = key;
  msg.values.back().value = words;
}

void add_fault(Status & msg, unsigned char level, const std::string & words)
{
  const bool worse = level > msg.level;
  msg.message = msg.message.empty() ? words
                : worse             ? words + "; " + msg.message
                                    : msg.message + "; " + words;
  msg.level = std::max(msg.level, level);
}

void add_hand(Status & msg, const Snapshot & snapshot, const Facts & facts)
{
  const auto six = [&snapshot](const char * name, std::size_t from = 0) {
    const double * values = snapshot.field(name) + from;
    return list(std::vector<double>(values, values + 6));
  };
  const double given = snapshot.number("given");
  add(msg, "hand", snapshot.model().hand);
  add(msg, "target", target_words(given));
  if (given > 0.5) {
    const double came = snapshot.number(given < 1.5 ? "pose_taken" : "twist_taken");
    add(msg, "target: age (s)", short_text(snapshot.number("cycle_at") - came));
  }
  add(msg, "target: error (m or rad)", six("task_error"));
  add(msg, "singularity", short_text(snapshot.number("singularity")));
  if (facts.feels) {
    add(msg, "correction of the force (N or N m)", six("correction", 6));
  }
}

/// Add what was counted; return the joints whose efforts were at their limits.
std::string add_counts(Status & msg, const Snapshot & snapshot, const Facts & facts)
{
  std::vector<std::string> errors;
  std::vector<std::string> saturated;
  std::vector<std::string> stuck;
  const double cycles = std::max(1.0, snapshot[CYCLES]);
  for (std::size_t i = 0; i < snapshot.model().joint_count; ++i) {
    const std::string name = snapshot.model().joints[i].name;
    errors.push_back(name + ": " + short_text(snapshot.largest_error()[i]));
    saturated.push_back(name + ": " + text(snapshot.saturated()[i], "%.0f"));
    if (snapshot.saturated()[i] / cycles > SATURATED_SHARE) {
      stuck.push_back(name);
    }
  }
  add(msg, "largest tracking error (rad or m)", joined(errors));
  add(msg, "cycles saturated", joined(saturated));
  add(msg, "cycles", text(snapshot[CYCLES], "%.0f"));
  add(msg, "rate asked (Hz)", text(facts.update_rate));
  const double time = snapshot[TIME];
  add(msg, "rate held (Hz)", text(time > 0.0 ? snapshot[CYCLES] / time : 0.0));
  add(msg, "longest period (ms)", short_text(1e3 * snapshot[LONGEST_PERIOD]));
  add(msg, "commands not accepted", text(snapshot[UNWRITTEN], "%.0f"));
  return joined(stuck);
}

void add_faults(Status & msg, const Snapshot & snapshot, const std::string & stuck)
{
  const std::string status = status_of(snapshot);
  const std::string words = words_for_status(snapshot);
  if (status == "stopped") {
    add_fault(msg, Status::ERROR, words + ": " + reason_of_stop(snapshot));
  } else if (status == "blind" || status == "silent") {
    add_fault(msg, Status::ERROR, words + reason_of_blindness(snapshot));
  } else if (status == "waiting" || status == "paused") {
    add_fault(msg, Status::WARN, words);
  }
  const std::string cause =
    snapshot.model().causes[static_cast<std::size_t>(snapshot.number("cause"))].name;
  if (snapshot.number("touched") > -0.5 && cause != "collision") {
    add_fault(msg, Status::WARN, contact(snapshot));
  }
  if (snapshot.number("braked_by") > -0.5) {
    const auto joint = static_cast<std::size_t>(snapshot.number("braked_by"));
    add_fault(
      msg, Status::WARN,
      joint_name(snapshot.model(), joint) +
        " does not move although it is pushed; is its brake closed?");
  }
  if (!stuck.empty()) {
    add_fault(
      msg, Status::WARN,
      "the effort of " + stuck +
        " is at its limit; does a joint push its stop, is the load too "
        "heavy, or does it oscillate?");
  }
  if (snapshot[UNWRITTEN] > LARGEST_MISSED_SHARE * std::max(1.0, snapshot[CYCLES])) {
    add_fault(msg, Status::WARN, "the hardware does not accept commands");
  }
}

}  // namespace

Status diagnostics(const Snapshot & snapshot, const Facts & facts)
{
  Status msg;
  msg.name = facts.name;
  msg.hardware_id = snapshot.model().robot;
  add(msg, "state", snapshot.active() ? "active" : "inactive");
  add(msg, "mode", facts.mode);
  if (snapshot.active()) {
    add(msg, "status", words_for_status(snapshot));
    if (snapshot.in_task() && snapshot.number("target_held") > 0.5) {
      add_hand(msg, snapshot, facts);
    }
    add(msg, "external effort (N m or N)", list(snapshot.joints("external")));
    add(
      msg, "references",
      snapshot[CHAINED] > 0.5 ? "of a preceding controller" : "of the topic ~/reference");
    add_faults(msg, snapshot, add_counts(msg, snapshot, facts));
  }
  add(msg, "load", facts.load);
  add(msg, "messages refused", std::to_string(facts.refused));
  add(msg, "model", std::string(snapshot.model().fingerprint));
  if (msg.message.empty()) {
    msg.message = snapshot.active() ? "ok" : "inactive";
  }
  return msg;
}

}  // namespace robot_dynamics_controllers
