// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <algorithm>
#include <cmath>

#include "refusal.hpp"

namespace robot_dynamics_controllers
{
namespace
{

constexpr const char * TARGETS[] = {"none: held", "target_pose", "target_twist"};
constexpr double LARGEST_MISSED_SHARE = 0.01;

std::string short_text(double x) { return text(x, "%.3g"); }

/// Return the sentence of a table with the numbers of a stop, a warning or an obstacle.
std::string words_for_cause(
  const Snapshot & snapshot, const robot_dynamics_cause * causes, const char * number,
  const std::string & kind)
{
  const robot_dynamics_cause & cause = causes[snapshot.index(number)];
  const auto of = [&](const char * part) { return snapshot.number((kind + part).c_str()); };
  return sentence(snapshot.model(), cause, of("_joint"), of("_value"), of("_limit"));
}

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

void add_task(Status & msg, const Snapshot & snapshot, const Facts & facts)
{
  const auto six = [&snapshot](const char * name, std::size_t from = 0) {
    const double * values = snapshot.field(name) + from;
    return list(std::vector<double>(values, values + 6));
  };
  const double given = snapshot.number("given");
  add(msg, "end effector", snapshot.model().end_effector);
  add(msg, "target", TARGETS[snapshot.index("given")]);
  if (given > 0.5) {
    const double came = snapshot.number(given < 1.5 ? "pose_taken" : "twist_taken");
    add(msg, "target: age (s)", short_text(snapshot.number("cycle_at") - came));
  }
  add(msg, "target: error (m or rad)", six("task_error"));
  add(msg, "singularity", short_text(snapshot.number("singularity")));
  if (facts.measures) {
    add(msg, "correction of the force (N or N m)", six("correction", 6));
  }
}

void add_counts(Status & msg, const Snapshot & snapshot, const Facts & facts)
{
  std::vector<std::string> errors;
  std::vector<std::string> limited;
  for (std::size_t i = 0; i < snapshot.model().joint_count; ++i) {
    const std::string name = snapshot.model().joints[i].name;
    errors.push_back(name + ": " + short_text(snapshot.largest_error()[i]));
    limited.push_back(name + ": " + text(snapshot.field("at_limit")[i], "%.0f"));
  }
  add(msg, "largest tracking error (rad or m)", joined(errors));
  add(msg, "effort at its limit (% of the time)", joined(limited));
  add(msg, "cycles", text(snapshot[CYCLES], "%.0f"));
  add(msg, "requested rate (Hz)", text(facts.update_rate));
  add(msg, "rate held (Hz)", text(snapshot[CYCLES] / std::max(snapshot[TIME], 1e-9)));
  add(msg, "longest period (ms)", short_text(1e3 * snapshot[LONGEST_PERIOD]));
  add(msg, "commands not accepted", text(snapshot[UNWRITTEN], "%.0f"));
}

void add_faults(Status & msg, const Snapshot & snapshot)
{
  if (const int level = snapshot.model().statuses[snapshot.index("status")].level; level > 0) {
    const std::string words = words_for_status(snapshot) + reason_of_status(snapshot);
    add_fault(msg, static_cast<unsigned char>(level), words);
  }
  if (snapshot.number("warning") > 0.5) {
    add_fault(msg, Status::WARN, words_for_warning(snapshot));
  }
  if (snapshot.number("brake_joint") > -0.5) {
    add_fault(msg, Status::WARN, words_for_brake(snapshot));
  }
  if (snapshot.number("limited") > 0.5) {
    const auto * causes = snapshot.model().causes;
    add_fault(msg, Status::WARN, words_for_cause(snapshot, causes, "limited", "limited"));
  }
  if (snapshot[UNWRITTEN] > LARGEST_MISSED_SHARE * std::max(1.0, snapshot[CYCLES])) {
    add_fault(msg, Status::WARN, "the hardware does not accept commands");
  }
}

}  // namespace

Snapshot::Snapshot(const Model & model)
: model_(&model),
  n_(model.joint_count),
  values_(SHOWN_NUMBERS + model.joint_count + model.state.size, 0.0)
{
  std::copy_n(model.state.initial, model.state.size, state());
}

void Snapshot::count_anew()
{
  for (const Shown number : {CYCLES, UNWRITTEN, TIME, LONGEST_PERIOD}) {
    (*this)[number] = 0.0;
  }
  std::fill_n(largest_error(), n_, 0.0);
}

std::string status_of(const Snapshot & snapshot)
{
  return snapshot.model().statuses[snapshot.index("status")].name;
}

std::string remedy_of_status(const Snapshot & snapshot, const std::string & node)
{
  static const std::string PLACE = "{node}";
  std::string remedy = snapshot.model().statuses[snapshot.index("status")].remedy;
  const std::size_t at = remedy.find(PLACE);
  return at == std::string::npos ? remedy : remedy.replace(at, PLACE.size(), node);
}

std::string cause_of(const Snapshot & snapshot)
{
  return snapshot.model().causes[snapshot.index("cause")].name;
}

std::string words_for_status(const Snapshot & snapshot)
{
  const auto & status = snapshot.model().statuses[snapshot.index("status")];
  return snapshot.in_task() ? status.words_in_task : status.words;
}

std::string words_for_warning(const Snapshot & snapshot)
{
  return words_for_cause(snapshot, snapshot.model().causes, "warning", "warning");
}

std::string reason_of_status(const Snapshot & snapshot)
{
  if (status_of(snapshot) == "stopped") {
    return ": " + words_for_cause(snapshot, snapshot.model().causes, "cause", "stop");
  }
  if (snapshot.index("reason") == 0) {
    return "";
  }
  const robot_dynamics_cause & flaw = snapshot.model().flaws[snapshot.index("reason")];
  const double joint = snapshot.number("reason_joint");
  return ": " + sentence(snapshot.model(), flaw, joint, snapshot.number("reason_value"), 0.0);
}

std::string words_for_brake(const Snapshot & snapshot)
{
  return words_for_cause(snapshot, snapshot.model().causes, "brake_cause", "brake");
}

std::string words_for_obstacle(const Snapshot & snapshot)
{
  const robot_dynamics_cause * words = snapshot.model().obstacles;
  const double * behind = snapshot.field("behind");
  return sentence(snapshot.model(), words[0], -1.0, behind[0], behind[1]) + ": " +
         words_for_cause(snapshot, words, "obstacle", "obstacle");
}

builtin_interfaces::msg::Time stamp_of(const Snapshot & snapshot)
{
  builtin_interfaces::msg::Time stamp;
  stamp.sec = static_cast<std::int32_t>(snapshot[STAMP_S]);
  stamp.nanosec = static_cast<std::uint32_t>(snapshot[STAMP_NS]);
  return stamp;
}

std::string farewell(const Snapshot & snapshot, const std::vector<double> & last_effort)
{
  if (!snapshot.sees()) {
    return "deactivated before a state came; nothing was commanded";
  }
  const std::size_t i = snapshot.index("moving_joint");
  std::string moving;
  if (snapshot.number("moving_joint") >= 0.0) {
    moving = " although joint " + quoted(snapshot.model().joints[i].name) + " moves at " +
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
  msg.header.stamp = stamp_of(snapshot);
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
  const std::vector<const char *> rows = {"law_effort", "proportional", "integral", "soft", "tau"};
  const auto count = static_cast<std::uint32_t>(rows.size());
  msg.layout.dim.resize(2);
  msg.layout.dim[0].label = "law_effort,feedback,integral,soft_limits,command";
  msg.layout.dim[0].size = count;
  msg.layout.dim[0].stride = count * n;
  msg.layout.dim[1].label = "joints";
  msg.layout.dim[1].size = n;
  msg.layout.dim[1].stride = n;
  for (const char * row : rows) {
    const double * values = snapshot.field(row);
    msg.data.insert(msg.data.end(), values, values + n);
  }
}

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
      add_task(msg, snapshot, facts);
    }
    add(msg, "external effort (N m or N)", list(snapshot.joints("external")));
    add(
      msg, "references",
      snapshot[CHAINED] > 0.5 ? "of a preceding controller" : "of the topic ~/reference");
    add_counts(msg, snapshot, facts);
    add_faults(msg, snapshot);
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
