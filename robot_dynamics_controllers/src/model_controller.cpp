// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#include "model_controller.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "pluginlib/class_list_macros.hpp"

namespace robot_dynamics_controllers
{
namespace
{

constexpr double NAN_VALUE = NAN;  // that is a float, which no interface takes
constexpr auto DIAGNOSTICS_PERIOD = std::chrono::seconds(1);
constexpr const char * POSE = "target_pose";
constexpr const char * TWIST = "target_twist";
constexpr const char * WRENCH = "target_wrench";
constexpr const char * POSTURE = "target_posture";
constexpr const char * FORCE_TORQUE = "force_torque";
constexpr const char * REFERENCE = "reference";
constexpr std::size_t MEASURED = 1;  // numbers of the field `pressing`
constexpr std::size_t UNMEASURED = 2;

const std::vector<std::string> REFERENCES = {"position", "velocity", "acceleration", "effort"};

/// Return the value of an interface; NaN if another thread holds it now.
template <typename Interface>
double value_of(const Interface & interface)
{
  return interface.get_optional(1).value_or(NAN_VALUE);
}

double value_of(const hardware_interface::CommandInterface & interface)
{
  return interface.get_optional().value_or(NAN_VALUE);
}

std::string name_of(const rclcpp::TopicEndpointInfo & info)
{
  const std::string & space = info.node_namespace();
  return space + (space == "/" ? "" : "/") + info.node_name();
}

// In the order of `Arrived` and `State`
// clang-format off
constexpr const char * ARRIVED_NAMES[] = {
  "now", "state_new", "state_q", "state_qd", "state_came", "reference_came",
  "came_reference", "came_reference_age", "came_before", "came_after", "came_qdd",
  "came_tau", "came_has_tau", "resume", "payload_goal", "gravity_goal", "base", "drops_target",
  "measured_wrench_came", "measured_wrench", "lead", "unstamped"};
constexpr const char * STATE_NAMES[] = {"status", "seen", "commands", "tau",
  "commanded_position", "commanded_velocity", "error"};
// clang-format on

}  // namespace

// -- interfaces --------------------------------------------------------------------------------

ModelController::Interfaces ModelController::interfaces(
  const std::vector<std::string> & kinds) const
{
  Interfaces found;
  found.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const std::string & kind : kinds) {
    for (std::size_t i = 0; i < n_; ++i) {
      found.names.push_back(std::string(model().joints[i].name) + "/" + kind);
    }
  }
  return found;
}

ModelController::Interfaces ModelController::command_interface_configuration() const
{
  return interfaces(wiring_.given.command_interfaces);
}

ModelController::Interfaces ModelController::state_interface_configuration() const
{
  Interfaces found = interfaces({"position", "velocity"});
  found.names.insert(found.names.end(), wiring_.sensed.begin(), wiring_.sensed.end());
  return found;
}

ModelController::References ModelController::on_export_reference_interfaces_list()
{
  references_.clear();
  const std::size_t kinds = REFERENCES.size() - (wiring_.given.reference_effort_interface ? 0 : 1);
  for (std::size_t k = 0; k < kinds; ++k) {
    for (std::size_t i = 0; i < n_; ++i) {
      references_.push_back(
        std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + model().joints[i].name, REFERENCES[k]));
      (void)references_.back()->set_value(NAN_VALUE);
    }
  }
  return references_;
}

// -- lifecycle ---------------------------------------------------------------------------------

ModelController::CallbackReturn ModelController::on_init()
{
  try {
    // The file and its joints come before the parameters that the joints have
    auto model = std::make_unique<ModelLibrary>(auto_declare<std::string>("model", ""));
    if (!get_node()->has_parameter("joints")) {
      rcl_interfaces::msg::ParameterDescriptor descriptor;
      descriptor.description = "Joints of the model, in its order";
      descriptor.read_only = true;
      get_node()->declare_parameter("joints", joint_names(**model), descriptor);
    }
    listener_ = std::make_unique<model_controller::ParamListener>(get_node());
    use_model(std::move(model));
    (void)configured(lookup({}));
  } catch (const std::exception & error) {
    fail(error.what());
    return CallbackReturn::ERROR;
  }
  on_set_ = get_node()->add_on_set_parameters_callback(
    [this](const Parameters & requested) { return check(requested); });
  post_set_ = get_node()->add_post_set_parameters_callback(
    [this](const Parameters & changed) { apply(changed); });
  return CallbackReturn::SUCCESS;
}

void ModelController::use_model(std::unique_ptr<ModelLibrary> && model)
{
  wiring_ = wiring_of(listener_->get_params(), **model);
  for (std::size_t i = 0; i < ARRIVED_FIELDS; ++i) {
    arrived_at_[i] = offset_of((*model)->arrived, ARRIVED_NAMES[i]);
  }
  for (std::size_t i = 0; i < STATE_FIELDS; ++i) {
    state_at_[i] = offset_of((*model)->state, STATE_NAMES[i]);
  }
  edition_at_ = offset_of((*model)->settings, "settings_edition");
  mode_at_ = offset_of((*model)->settings, "mode");
  n_ = (*model)->joint_count;
  values_.emplace(**model, get_update_rate());
  last_model_ = std::move(model_);
  model_ = std::move(model);
}

ModelController::CallbackReturn ModelController::on_configure(const rclcpp_lifecycle::State &)
{
  try {
    fill_in(values_->forgotten(*get_node()));
    use_model(std::make_unique<ModelLibrary>(get_node()->get_parameter("model").as_string()));
    check_model();
    const Model & robot = model();
    Configured found = configured(lookup({}));
    fill_in(values_->defaults(*get_node(), found.effective));
    settings_in_.resize(robot.settings.size);
    load_in_.open(robot.arrived, "payload_goal", "wrench_goal");
    reference_in_.open(robot.arrived, "reference_came", "came_has_tau");
    pose_in_.open(robot.arrived, "pose_came", "pose_position");
    twist_in_.open(robot.arrived, "twist_came", "twist_lasts");
    push_in_.open(robot.arrived, "push_came", "push_lasts");
    posture_in_.open(robot.arrived, "posture_came", "posture_given");
    wrench_in_.open(robot.arrived, "measured_wrench_came", "measured_wrench");
    state_ = robot.state.initial;
    arrived_ = initial(robot.arrived);
    settings_ = initial(robot.settings);
    sensed_.setZero(static_cast<Eigen::Index>(wiring_.sensed.size()));
    effort_.setZero(static_cast<Eigen::Index>(n_));
    last_effort_.assign(n_, 0.0);
    still_.assign(n_, 0.0);
    shown_ = latest_ = logged_ = Snapshot(robot);
    snapshots_out_.resize(shown_.values().size());
    written_.assign(4 * n_, NAN_VALUE);
    chained_.assign(3 + 4 * n_, 0.0);
    chain_ = {0.0, wiring_.given.reference_lead / std::max(1u, get_update_rate())};
    put(std::move(found));
  } catch (const std::exception & error) {
    filling_ = false;
    fail(error.what());
    return CallbackReturn::FAILURE;
  }
  warn_of_unknown_parameters();
  refused_ = 0;
  contested_.clear();
  open_topics();
  inform(
    "control of robot " + quoted(model().robot) + ", model " + model().fingerprint + ": " +
    joined(joint_names(model())) + "; mode '" + get_node()->get_parameter("mode").as_string() +
    "', " + words_for_load(model(), present_.load));
  log_notice("");
  return CallbackReturn::SUCCESS;
}

ModelController::CallbackReturn ModelController::on_activate(const rclcpp_lifecycle::State &)
{
  try {  // once, so that no interface of another type throws in the loop
    for (const auto & interface : command_interfaces_) {
      (void)value_of(interface);
    }
    for (const auto & interface : state_interfaces_) {
      (void)value_of(interface);
    }
  } catch (const std::exception & error) {
    fail(error.what());
    return CallbackReturn::ERROR;
  }
  for (const auto & interface : references_) {
    (void)interface->set_value(NAN_VALUE);
  }
  const Model & robot = model();
  state_ = robot.state.initial;
  std::copy_n(robot.arrived.initial, arrived_.size(), arrived_.begin());
  now_ = 0.0;
  chain_[0] = 0.0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    settings_in_.put(present_.settings.data());
    put_load();
  }
  reference_in_.clear();
  for (Inlet * early : targets_in_) {
    early->clear();
  }
  resume_ = drops_target_ = false;
  take_changes();
  shown_ = Snapshot(robot);
  shown_[ACTIVE] = 1.0;
  return CallbackReturn::SUCCESS;
}

ModelController::CallbackReturn ModelController::on_deactivate(const rclcpp_lifecycle::State &)
{
  if (*state(SEEN) > 0.5) {
    model().hold(state_, settings_.data(), arrived(LOAD), last_effort_.data());
    write_commands(last_effort_.data(), still_.data());
  }
  shown_[ACTIVE] = 0.0;
  std::copy_n(state_, model().state.size, next());
  put_snapshot();
  return CallbackReturn::SUCCESS;
}

ModelController::CallbackReturn ModelController::on_cleanup(const rclcpp_lifecycle::State &)
{
  topics_ = Topics();
  references_.clear();
  return CallbackReturn::SUCCESS;
}

void ModelController::check_model()
{
  const std::string found = first_difference(model(), get_robot_description());
  if (found.empty()) {
    return;
  }
  const std::string line = "robot_description differs from the model: " + found +
                           "; write the model again with: " + model().command;
  if (wiring_.given.model_check == "strict") {
    throw Refusal(line + ", or set model_check: warn to use the model as it is");
  }
  warn(line);
}

void ModelController::warn_of_unknown_parameters()
{
  std::vector<std::string> unknown;
  const auto given = get_node()->get_node_parameters_interface()->get_parameter_overrides();
  for (const auto & [name, value] : given) {
    const bool foreign = name == "type" || name.rfind("qos_overrides.", 0) == 0;
    if (!foreign && !get_node()->has_parameter(name)) {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) {
    warn("unknown parameters are ignored: " + joined(unknown));
  }
}

void ModelController::open_topics()
{
  const auto node = get_node();
  const rclcpp::QoS latest = rclcpp::QoS(1).best_effort();
  const auto listen = [this, &node](
                        auto msg, const char * topic, const rclcpp::QoS & qos, auto on) {
    using Msg = decltype(msg);
    topics_.subscriptions.push_back(node->template create_subscription<Msg>(
      std::string("~/") + topic, qos, [on](const Msg & m) { on(m); }));
  };
  using geometry_msgs::msg::InertiaStamped;
  using geometry_msgs::msg::PoseStamped;
  using geometry_msgs::msg::TwistStamped;
  using geometry_msgs::msg::Vector3Stamped;
  using geometry_msgs::msg::WrenchStamped;
  using sensor_msgs::msg::JointState;
  listen(JointState(), REFERENCE, latest, [this](const auto & msg) { on_reference(msg); });
  listen(InertiaStamped(), "payload", 10, [this](const auto & msg) { on_payload(msg); });
  listen(Vector3Stamped(), "gravity", latest, [this](const auto & msg) { on_gravity(msg); });
  const auto follow = [&](auto msg, const char * topic, auto put) {
    listen(msg, topic, latest, [this, topic, put](const auto & m) {
      on_target(topic, [&](const Frames & frames) { put(frames, m); });
    });
  };
  follow(PoseStamped(), POSE, [this](const Frames & frames, const auto & msg) {
    const Eigen::Isometry3d pose = target_of(frames, msg);
    const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rotation = pose.linear();
    const Eigen::Vector3d position = pose.translation();
    const double stamp = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec;
    pose_in_.put(
      {{"pose_stamp", &stamp},
       {"pose_rotation", rotation.data()},
       {"pose_position", position.data()}});
  });
  follow(TwistStamped(), TWIST, [this](const Frames & frames, const auto & msg) {
    const double lasts = get_node()->get_parameter("task.twist_timeout").as_double();
    twist_in_.put({{"twist_given", target_of(frames, msg).data()}, {"twist_lasts", &lasts}});
  });
  follow(WrenchStamped(), WRENCH, [this](const Frames & frames, const auto & msg) {
    const double lasts = get_node()->get_parameter("task.wrench_timeout").as_double();
    const Vector6 wrench = target_of(frames, msg);
    const std::lock_guard<std::mutex> lock(mutex_);
    check_by(model().check_wrench, wrench.data());
    push_in_.put({{"push_given", wrench.data()}, {"push_lasts", &lasts}});
  });
  follow(JointState(), POSTURE, [this](const Frames &, const auto & msg) {
    posture_in_.put({{"posture_given", reference_of(model(), msg).data()}});
  });
  follow(WrenchStamped(), FORCE_TORQUE, [this](const Frames & frames, const auto & msg) {
    if (!wiring_.given.force_torque_sensor.empty()) {
      throw Refusal("the wrench comes from the sensor of the parameter force_torque_sensor");
    }
    const Matrix6 exerted = wrench_matrix_of(model(), frames, msg.header.frame_id);
    wrench_in_.put({{"measured_wrench", Vector6(exerted * vector_of(msg.wrench)).data()}});
  });
  using std_srvs::srv::Trigger;
  topics_.resume = node->create_service<Trigger>(
    "~/resume", [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr response) {
      on_resume(*response);
    });
  // Publishers of a lifecycle node would say nothing while it is inactive
  const auto publish = [&node](auto & publisher, const char * topic, std::size_t depth) {
    using Msg = typename std::decay_t<decltype(*publisher)>::PublishedType;
    publisher = rclcpp::create_publisher<Msg>(*node, topic, rclcpp::QoS(depth));
  };
  publish(topics_.states, "~/controller_state", 10);
  publish(topics_.efforts, "~/efforts", 10);
  publish(topics_.pose, "~/cartesian_pose", 1);
  publish(topics_.error, "~/cartesian_error", 1);
  publish(topics_.external, "~/external_effort", 1);
  publish(topics_.diagnostics, "/diagnostics", 10);
  topics_.timer = node->create_wall_timer(
    std::chrono::duration<double>(1.0 / wiring_.given.state_publish_rate), [this]() { report(); });
}

// -- the loop ----------------------------------------------------------------------------------

controller_interface::return_type ModelController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  (void)reference_in_.take(arrived_.data(), now_);
  return controller_interface::return_type::OK;
}

controller_interface::return_type ModelController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  // A clock of the system may jump; periods are those of the loop
  period_ = static_cast<double>(std::max<std::int64_t>(period.nanoseconds(), 0)) * 1e-9;
  now_ += period_;
  const bool chained = is_in_chained_mode();
  shown_[CHAINED] = chained ? 1.0 : 0.0;
  *arrived(LEAD) = chained ? chain_[1] : 0.0;
  read_states();
  take_changes();
  if (chained) {
    read_reference_interfaces();
  }
  *arrived(NOW) = now_;
  model().step(state_, arrived_.data(), settings_.data(), next());
  state_ = next();
  const bool commands = *state(COMMANDS) > 0.5;
  if (commands) {
    write_commands(state(TAU), state(VELOCITY));
  }
  show(time.nanoseconds());
  const auto status = static_cast<std::size_t>(*state(STATUS));
  return commands || model().statuses[status].name != std::string_view("silent")
           ? controller_interface::return_type::OK
           : controller_interface::return_type::ERROR;
}

void ModelController::read_states()
{
  for (std::size_t i = 0; i < n_; ++i) {
    arrived(STATE_Q)[i] = value_of(state_interfaces_[i]);
    arrived(STATE_QD)[i] = value_of(state_interfaces_[n_ + i]);
  }
  // The step judges whether it is a state, and another one than before
  *arrived(STATE_NEW) = *arrived(UNSTAMPED) = 1.0;
  *arrived(STATE_CAME) = now_;
  for (Eigen::Index i = 0; i < sensed_.size(); ++i) {
    sensed_[i] = usable(value_of(state_interfaces_[2 * n_ + static_cast<std::size_t>(i)]));
  }
  if (sensed_.size() >= 6) {
    const Vector6 wrench = wiring_.of_wrench * sensed_.head<6>();
    if (wrench.allFinite()) {
      std::copy_n(wrench.data(), 6, arrived(MEASURED_WRENCH));
      *arrived(WRENCH_CAME) = now_;
    }
  }
  if (sensed_.size() % 6 == 3) {
    Eigen::Vector3d::Map(&shown_[FORCE]) = wiring_.of_imu * sensed_.tail<3>();
  }
}

void ModelController::take_changes()
{
  if (const double * settings = settings_in_.take()) {
    std::copy_n(settings, settings_.size(), settings_.begin());
    settings_[edition_at_] = edition_ += 1.0;
  }
  if (load_in_.take(arrived_.data(), now_)) {
    std::copy_n(arrived(GRAVITY), 3, arrived(BASE));  // a base that stands
  }
  for (Inlet * inlet : targets_in_) {
    (void)inlet->take(arrived_.data(), now_);
  }
  *arrived(RESUME) = resume_.exchange(false) ? 1.0 : 0.0;
  *arrived(DROPS_TARGET) = drops_target_.exchange(false) ? 1.0 : 0.0;
}

void ModelController::read_reference_interfaces()
{
  for (std::size_t k = 0; k < references_.size(); ++k) {
    written_[k] = value_of(*references_[k]);
  }
  model().reference(written_.data(), chain_.data(), chained_.data());
  chain_[0] = chained_[1];
  const double * q = chained_.data() + 3;
  if (chained_[0] > 0.5) {
    for (const Arrived field : {REF_LAST, REF_BEFORE, REF_AFTER}) {
      std::copy_n(q, 2 * n_, arrived(field));
    }
    std::copy_n(q + 2 * n_, n_, arrived(REF_QDD));
    std::copy_n(q + 3 * n_, n_, arrived(REF_TAU));
    *arrived(REF_HAS_TAU) = chained_[2];
    *arrived(REF_CAME) = now_;
    *arrived(REF_AGE) = 0.0;
  }
  for (std::size_t i = 0; i < n_; ++i) {
    // Velocities that stay NaN have stopped. Positions stay, as preceding controllers read them back.
    (void)references_[n_ + i]->set_value(NAN_VALUE);
  }
}

void ModelController::write_commands(const double * effort, const double * qd)
{
  const auto n = static_cast<Eigen::Index>(n_);
  effort_ = Eigen::Map<const Eigen::VectorXd>(effort, n);
  if (wiring_.to_actuators.size() > 0) {
    effort_.noalias() = wiring_.to_actuators * Eigen::Map<const Eigen::VectorXd>(effort, n);
  }
  std::size_t k = 0;
  bool written = true;
  for (const std::string & kind : wiring_.given.command_interfaces) {
    const auto * x = kind == "effort" ? effort_.data() : kind == "velocity" ? qd : state(POSITION);
    for (std::size_t i = 0; i < n_; ++i, ++k) {
      written = command_interfaces_[k].set_value(x[i], 1) && written;
    }
  }
  shown_[UNWRITTEN] += written ? 0.0 : 1.0;
}

void ModelController::show(std::int64_t stamp)
{
  if (counts_anew_.exchange(false)) {
    shown_.count_anew();
  }
  shown_[STAMP_S] = static_cast<double>(stamp / 1000000000);
  shown_[STAMP_NS] = static_cast<double>(stamp % 1000000000);
  shown_[MODE] = settings_[mode_at_];
  shown_[LONGEST_PERIOD] = std::max(shown_[LONGEST_PERIOD], period_);
  shown_[TIME] += period_;
  shown_[CYCLES] += 1.0;
  for (std::size_t i = 0; i < n_; ++i) {
    double & largest = shown_.largest_error()[i];
    largest = std::max(largest, std::abs(state(ERROR)[i]));
  }
  put_snapshot();
}

void ModelController::put_snapshot()
{
  double * const snapshot = snapshots_out_.back();
  std::copy_n(shown_.values().begin(), next() - snapshot, snapshot);
  snapshots_out_.put_back();
}

// -- parameters, in other threads --------------------------------------------------------------

Lookup ModelController::lookup(const Parameters & requested) const
{
  return [this, requested](const std::string & name) {
    for (const rclcpp::Parameter & parameter : requested) {
      if (parameter.get_name() == name) {
        return parameter;
      }
    }
    return get_node()->get_parameter(name);
  };
}

Configured ModelController::configured(const Lookup & get) const
{
  return values_->configured(*get_node(), get, gravity_ ? &*gravity_ : nullptr);
}

void ModelController::fill_in(const Parameters & found)
{
  filling_ = true;
  for (const auto & result : get_node()->set_parameters(found)) {
    if (!result.successful) {
      throw Refusal("the default parameters of the model are refused: " + result.reason);
    }
  }
  filling_ = false;
}

void ModelController::put(Configured && found, bool load_alone)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  present_ = std::move(found);
  // The load first: the loop takes it last, and so never an older one than that of the settings
  put_load();
  if (!load_alone) {
    settings_in_.put(present_.settings.data());
  }
}

void ModelController::log_notice(const std::string & before)
{
  if (present_.notice != before && !present_.notice.empty()) {
    warn(present_.notice);
  }
}

void ModelController::put_load()
{
  const double * load = present_.load.data();
  load_in_.put({{"payload_goal", load}, {"gravity_goal", load + 10}, {"wrench_goal", load + 13}});
}

rcl_interfaces::msg::SetParametersResult ModelController::check(const Parameters & given)
{
  rcl_interfaces::msg::SetParametersResult result;
  result.successful = true;
  if (filling_) {
    return result;
  }
  try {
    const Configured found = configured(lookup(given));
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool loads = std::any_of(
      given.begin(), given.end(), [](const auto & one) { return is_of_load(one.get_name()); });
    if (loads) {
      const bool heavier = found.load[0] != present_.load[0];
      const std::string subject = heavier ? "payload of " + text(found.load[0]) + " kg" : "load";
      check_by(model().check_load, found.load.data(), subject);
    }
  } catch (const std::exception & error) {
    result.successful = false;
    result.reason = error.what();
  }
  return result;
}

void ModelController::apply(const Parameters & changed)
{
  if (filling_ || get_lifecycle_id() == lifecycle_msgs::msg::State::PRIMARY_STATE_UNCONFIGURED) {
    return;
  }
  try {
    bool loads = false;
    bool others = false;
    for (const rclcpp::Parameter & parameter : changed) {
      const std::string & name = parameter.get_name();
      (is_of_load(name) ? loads : others) = true;
      if (name == "gravity") {
        gravity_.reset();  // the later one counts
      }
      if (name == "model") {
        inform("the model is read when the controller is configured again");
      }
    }
    const auto before = static_cast<std::size_t>(present_.settings[mode_at_]);
    const std::string notice = present_.notice;
    put(configured(lookup({})), !others);
    const auto after = static_cast<std::size_t>(present_.settings[mode_at_]);
    if (after != before) {
      inform("mode " + quoted(model().modes[after]) + ", before " + quoted(model().modes[before]));
    }
    log_notice(notice);
    if (loads) {
      inform(words_for_load(model(), present_.load));
    }
  } catch (const std::exception & error) {
    fail(error.what());
  }
}

// -- messages, in other threads ----------------------------------------------------------------

const Snapshot & ModelController::latest()
{
  if (const double * values = snapshots_out_.take()) {
    std::copy_n(values, latest_.values().size(), latest_.values().begin());
  }
  return latest_;
}

void ModelController::refuse(const std::string & line)
{
  ++refused_;
  if (reasons_.is_due(line, std::chrono::steady_clock::now())) {
    warn(line);
  }
}

void ModelController::on_reference(const sensor_msgs::msg::JointState & msg)
{
  try {
    if (is_in_chained_mode()) {
      throw Refusal("a preceding controller sends the references");
    }
    const std::vector<double> found = reference_of(model(), msg);
    const double age = (get_node()->now() - rclcpp::Time(msg.header.stamp)).seconds();
    reference_in_.put(
      {{"came_reference", found.data()},
       {"came_reference_age", &age},
       {"came_before", found.data()},
       {"came_after", found.data()},
       {"came_tau", found.data() + 2 * n_},
       {"came_has_tau", &found.back()}});
  } catch (const Refusal & error) {
    refuse(std::string("reference refused: ") + error.what());
  }
}

void ModelController::on_payload(const geometry_msgs::msg::InertiaStamped & msg)
{
  const std::string & frame = msg.header.frame_id;
  const std::string own = model().payload_frame;
  const auto & body = msg.inertia;
  const std::vector<double> com = {body.com.x, body.com.y, body.com.z};
  const std::vector<double> inertia = {body.ixx, body.ixy, body.ixz, body.iyy, body.iyz, body.izz};
  try {
    if (!own.empty() && !frame.empty() && frame != own) {
      throw Refusal("frame " + quoted(frame) + " is not " + quoted(own));
    }
    check_finite({body.m});  // NaN would be the default
    check_finite(com);
    check_finite(inertia);
    const rcl_interfaces::msg::SetParametersResult result = get_node()->set_parameters_atomically(
      {rclcpp::Parameter("payload.mass", body.m), rclcpp::Parameter("payload.com", com),
       rclcpp::Parameter("payload.inertia", inertia)});
    if (!result.successful) {
      throw Refusal(result.reason);
    }
  } catch (const Refusal & error) {
    refuse(std::string("payload refused: ") + error.what());
  }
}

void ModelController::take_imu(const Snapshot & now)
{
  const double passed = now.number("cycle_at") - logged_.number("cycle_at");
  const double times[] = {passed, wiring_.given.imu_filter};
  const double * before = present_.effective.data() + offset_of(model().parameters, "gravity");
  std::vector<double> gravity(3);
  std::vector<double> refusal = initial(model().refusal);
  model().imu_gravity(before, &now.values()[FORCE], times, gravity.data(), refusal.data());
  try {
    throw_refusal(model(), refusal);
    gravity_ = gravity;
    put(configured(lookup({})), true);
  } catch (const Refusal & error) {
    refuse("imu is ignored: " + std::string(error.what()));
  }
}

void ModelController::on_gravity(const geometry_msgs::msg::Vector3Stamped & msg)
{
  const std::string & frame = msg.header.frame_id;
  try {
    if (!frame.empty() && frame != model().root) {
      throw Refusal("frame " + quoted(frame) + " is not the root link " + quoted(model().root));
    }
    if (!wiring_.given.imu.empty()) {
      throw Refusal("it comes from the sensor of the parameter imu");
    }
    const std::vector<double> given = {msg.vector.x, msg.vector.y, msg.vector.z};
    check_finite(given);
    const Configured found = values_->configured(*get_node(), lookup({}), &given);
    const std::lock_guard<std::mutex> lock(mutex_);
    check_by(model().check_load, found.load.data());
    present_.load = found.load;
    gravity_ = given;
    put_load();
    const std::string line = words_for_load(model(), present_.load);
    if (reasons_.is_due(line, std::chrono::steady_clock::now())) {  // a stream, at most
      inform(line);
    }
  } catch (const Refusal & error) {
    refuse(std::string("gravity refused: ") + error.what());
  }
}

void ModelController::on_resume(std_srvs::srv::Trigger::Response & response)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool stopped = latest().number("cause") > 0.5 || latest_.number("paused") > 0.5;
  response.success = latest_.active() && stopped;
  resume_ = response.success;
  response.message =
    response.success ? "holding the position; a new trajectory moves the arm" : "not stopped";
}

void ModelController::on_target(const char * topic, const std::function<void(const Frames &)> & put)
{
  const bool measures = topic == FORCE_TORQUE;
  std::string line = measures ? "" : why_ignored(topic);
  if (line.empty()) {
    try {
      std::vector<double> q;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (measures && !(latest().active() && latest_.in_task())) {
          return;
        }
        q = latest().joints("q");
      }
      put(Frames(model(), q.data()));
      return;
    } catch (const Refusal & error) {
      line = std::string(topic) + " is ignored: " + error.what();
    }
  }
  refuse(line);
}

void ModelController::check_by(
  decltype(Model::check_load) kernel, const double * given, const std::string & subject)
{
  if (latest().active() && latest_.sees()) {
    std::vector<double> refusal = initial(model().refusal);
    const double * q = latest_.field("q");
    kernel(q, present_.settings.data(), present_.load.data(), given, refusal.data());
    throw_refusal(model(), refusal, subject);
  }
}

std::string ModelController::why_ignored(const char * topic)
{
  const std::string ignored = std::string(topic) + " is ignored: ";
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!latest().active()) {
    return ignored + "the controller is not active";
  }
  if (!latest_.in_task()) {
    std::vector<std::string> in_task;
    for (std::size_t i = 0; i < model().mode_count; ++i) {
      if (model().modes_in_task[i] != 0) {
        in_task.emplace_back(model().modes[i]);
      }
    }
    return ignored + "mode " + quoted(get_node()->get_parameter("mode").as_string()) +
           " controls the joints; set the parameter mode to " + joined(in_task, " or ");
  }
  if (!has_one_publisher(topic)) {
    return contested_[topic];
  }
  const bool sees = model().statuses[latest_.index("status")].has_states != 0;
  return sees ? "" : ignored + "no joint_states come";
}

bool ModelController::has_one_publisher(const char * topic)
{
  const auto node = get_node();
  const bool in_task = topic != REFERENCE;
  const auto found =
    node->get_publishers_info_by_topic(std::string(node->get_fully_qualified_name()) + "/" + topic);
  if (found.size() < 2) {
    if (contested_.erase(topic) > 0) {
      inform(std::string(topic) + " has one publisher again");
    }
    return true;
  }
  drops_target_ = drops_target_ || in_task;
  if (contested_.count(topic) == 0) {
    std::vector<std::string> names;
    std::transform(found.begin(), found.end(), std::back_inserter(names), name_of);
    std::sort(names.begin(), names.end());
    contested_[topic] = std::string(topic) + " is published by " + joined(names, " and ") +
                        (in_task ? ": the end effector follows none of them until one is left"
                                 : ": the arm follows the latest message; stop all but one");
    (void)reasons_.is_due(contested_[topic], std::chrono::steady_clock::now());
    warn(contested_[topic]);
  }
  return false;
}

// -- reports, in the thread of the timer -------------------------------------------------------

void ModelController::report()
{
  Snapshot now;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    now = latest();
  }
  log(logged_, now);
  log_task(logged_, now);
  if (now.active() && now.sees() && now.number("cycle_at") != logged_.number("cycle_at")) {
    control_msgs::msg::JointTrajectoryControllerState state;
    fill(state, now);
    topics_.states->publish(state);
    std_msgs::msg::Float64MultiArray efforts;
    fill(efforts, now);
    topics_.efforts->publish(efforts);
    publish_task(now);
  }
  if (now.active() && !wiring_.given.imu.empty()) {
    take_imu(now);
  }
  logged_ = now;
  const auto time = std::chrono::steady_clock::now();
  if (time - diagnosed_at_ >= DIAGNOSTICS_PERIOD) {
    diagnosed_at_ = time;
    for (const char * topic : {POSE, TWIST, WRENCH, POSTURE, REFERENCE}) {
      if (now.active() && (topic == REFERENCE ? now[CHAINED] < 0.5 : now.in_task())) {
        has_one_publisher(topic);
      }
    }
    publish_diagnostics(now);
  }
}

void ModelController::log(const Snapshot & before, const Snapshot & now)
{
  if (!now.active()) {
    if (before.active()) {
      inform(farewell(now, last_effort_));
    }
    return;
  }
  const double braked = now.number("brake_joint");
  const double was_braked = before.active() ? before.number("brake_joint") : -1.0;
  if (braked > -0.5 && braked != was_braked) {
    warn(words_for_brake(now) + " The controller keeps trying");
  } else if (braked < -0.5 && was_braked > -0.5) {
    inform("the joints move");
  }
  const double warning = now.number("warning");
  const double warned = before.active() ? before.number("warning") : 0.0;
  if (warning != warned && cause_of(now) != "collision") {
    warning > 0.5 ? warn(words_for_warning(now)) : inform("the warning has ended");
  }
  const bool same = before.active() && before.number("status") == now.number("status");
  if (same || braked > -0.5 || status_of(now) == "waiting") {
    return;
  }
  const std::string line = words_for_status(now) + reason_of_status(now) +
                           remedy_of_status(now, get_node()->get_fully_qualified_name());
  const int level = model().statuses[now.index("status")].log_level;
  level > 1 ? fail(line) : level > 0 ? warn(line) : inform(line);
}

void ModelController::log_task(const Snapshot & before, const Snapshot & now)
{
  if (!now.active() || !now.in_task() || now.number("target_held") < 0.5) {
    return;
  }
  if (before.in_task() && now.number("dropped") > before.number("dropped")) {
    warn(std::string(TWIST) + " has ended: the end effector comes to rest");
  }
  const bool was_unmeasured = before.index("pressing") == UNMEASURED;
  if (now.index("pressing") == UNMEASURED && !was_unmeasured) {
    const double timeout = present_.settings[offset_of(model().settings, "task_timeout")];
    warn(
      std::string("no ") + FORCE_TORQUE + " for " + text(timeout, "%g") +
      " s: the end effector presses without feedback");
  } else if (now.index("pressing") == MEASURED && was_unmeasured) {
    inform(std::string(FORCE_TORQUE) + " comes: the force is controlled by it");
  }
  if (now.number("obstacle_reports") > before.number("obstacle_reports") && now.index("obstacle")) {
    warn(words_for_obstacle(now));
  }
}

void ModelController::publish_task(const Snapshot & now)
{
  std_msgs::msg::Header header;
  header.stamp = stamp_of(now);
  if (topics_.external->get_subscription_count() > 0) {
    sensor_msgs::msg::JointState msg;
    msg.header = header;
    msg.name = joint_names(model());
    msg.effort = now.joints("external");
    topics_.external->publish(msg);
  }
  if (!now.in_task()) {
    return;
  }
  header.frame_id = model().root;
  if (topics_.pose->get_subscription_count() > 0) {
    geometry_msgs::msg::PoseStamped msg;
    msg.header = header;
    fill(msg.pose, Frames(model(), now.field("q")).pose(model().end_effector));
    topics_.pose->publish(msg);
  }
  if (now.number("target_held") > 0.5 && topics_.error->get_subscription_count() > 0) {
    geometry_msgs::msg::TwistStamped msg;
    msg.header = header;
    fill(msg.twist, Vector6(now.field("task_error")));
    topics_.error->publish(msg);
  }
}

void ModelController::publish_diagnostics(const Snapshot & now)
{
  const auto node = get_node();
  std::unique_lock<std::mutex> lock(mutex_);
  const std::string load = words_for_load(model(), present_.load);
  lock.unlock();
  const std::string mode = node->get_parameter("mode").as_string();
  const bool measures = node->get_parameter("task.force_feedback").as_bool();
  diagnostic_msgs::msg::DiagnosticArray msg;
  msg.header.stamp = node->now();
  msg.status.push_back(
    diagnostics(now, {node->get_name(), mode, load, get_update_rate(), refused_, measures}));
  topics_.diagnostics->publish(msg);
  counts_anew_ = true;
}

}  // namespace robot_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  robot_dynamics_controllers::ModelController, controller_interface::ChainableControllerInterface)
