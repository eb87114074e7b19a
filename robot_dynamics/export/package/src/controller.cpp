#include "controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base_messages.hpp"
#include "model.hpp"
#include "model_check.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "targets.hpp"

namespace @package@
{
namespace
{

constexpr double NAN_VALUE = std::numeric_limits<double>::quiet_NaN();
// States and references beyond it are no measurement, and would overflow in the equations
constexpr double LARGEST_STATE = 1e6;
constexpr double LARGEST_EFFORT = 1e9;
constexpr std::int64_t DIAGNOSTICS_PERIOD = 1000000000;  // ns
constexpr auto REPEAT_AFTER = std::chrono::seconds(10);
constexpr const char * TARGET_POSE = "target_pose";
constexpr const char * TARGET_TWIST = "target_twist";
constexpr const char * TARGET_WRENCH = "target_wrench";
constexpr const char * FELT = "force_torque";
constexpr double ANOTHER_CLOCK = 1.0;  // s of age on arrival from which a stamp is of another clock
// Singularity, distance from the target, m, and time at both, s, with which it is out of reach
constexpr double STRETCHED = 0.5;
constexpr double SHORT = 0.01;
constexpr double PATIENCE = 1.0;
constexpr double LOWER_SHARE = 0.9;  // of the last one, from which a lower stiffness is logged

constexpr std::array<const char *, 4> REFERENCES = {
  {"position", "velocity", "acceleration", "effort"}};

double usable(double x, double largest = LARGEST_STATE)
{
  return std::abs(x) < largest ? x : NAN_VALUE;
}

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

bool all_finite(const Vector & values)
{
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

std::string joint_text(std::size_t joint) { return "joint '" + std::string(JOINTS[joint]) + "'"; }

/// Return a reference by joint names. Throws Refusal.
Reference reference_of(const sensor_msgs::msg::JointState & msg)
{
  const std::size_t size = msg.name.size();
  const auto fits = [size](const std::vector<double> & values) {
    return values.empty() || values.size() == size;
  };
  if (msg.position.size() != size || !fits(msg.velocity) || !fits(msg.effort)) {
    throw Refusal(
      "there are " + std::to_string(size) + " names, " + std::to_string(msg.position.size()) +
      " positions, " + std::to_string(msg.velocity.size()) + " velocities and " +
      std::to_string(msg.effort.size()) + " efforts; give one of each per name");
  }
  Reference reference;
  reference.has_effort = !msg.effort.empty();
  for (std::size_t i = 0; i < N; ++i) {
    const auto found = std::find(msg.name.begin(), msg.name.end(), JOINTS[i]);
    if (found == msg.name.end()) {
      throw Refusal(joint_text(i) + " is not named");
    }
    const auto k = static_cast<std::size_t>(found - msg.name.begin());
    reference.motion.q[i] = usable(msg.position[k]);
    reference.motion.qd[i] = msg.velocity.empty() ? 0.0 : usable(msg.velocity[k]);
    reference.effort[i] = msg.effort.empty() ? 0.0 : usable(msg.effort[k], LARGEST_EFFORT);
    if (
      !std::isfinite(reference.motion.q[i]) || !std::isfinite(reference.motion.qd[i]) ||
      !std::isfinite(reference.effort[i])) {
      throw Refusal("a number of " + joint_text(i) + " is not finite, or too large");
    }
  }
  return reference;
}

}  // namespace

// -- interfaces --------------------------------------------------------------------------------

controller_interface::InterfaceConfiguration ArmController::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration found;
  found.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const std::string & interface : wiring_.command_interfaces) {
    for (const char * joint : JOINTS) {
      found.names.push_back(std::string(joint) + "/" + interface);
    }
  }
  return found;
}

controller_interface::InterfaceConfiguration ArmController::state_interface_configuration() const
{
  controller_interface::InterfaceConfiguration found;
  found.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const char * interface : {"position", "velocity"}) {
    for (const char * joint : JOINTS) {
      found.names.push_back(std::string(joint) + "/" + interface);
    }
  }
  return found;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
ArmController::on_export_reference_interfaces_list()
{
  reference_in_.clear();
  const std::size_t kinds = REFERENCES.size() - (wiring_.reference_effort ? 0 : 1);
  for (std::size_t k = 0; k < kinds; ++k) {
    for (const char * joint : JOINTS) {
      reference_in_.push_back(std::make_shared<hardware_interface::CommandInterface>(
        std::string(get_node()->get_name()) + "/" + joint, REFERENCES[k]));
      (void)reference_in_.back()->set_value(NAN_VALUE);
    }
  }
  return reference_in_;
}

// -- lifecycle ---------------------------------------------------------------------------------

ArmController::CallbackReturn ArmController::on_init()
{
  try {
    declare_parameters(*get_node());
    for (const auto & name : get_node()->list_parameters({}, 0).names) {
      check_numbers(get_node()->get_parameter(name));
    }
    const Lookup get = lookup({});
    wiring_ = wiring_of(get);
    settings_of(get, get_update_rate());
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  on_set_ = get_node()->add_on_set_parameters_callback(
    [this](const Parameters & asked) { return check(asked); });
  post_set_ = get_node()->add_post_set_parameters_callback(
    [this](const Parameters & changed) { apply(changed); });
  return CallbackReturn::SUCCESS;
}

ArmController::CallbackReturn ArmController::on_configure(const rclcpp_lifecycle::State &)
{
  const double rate = get_update_rate();
  try {
    const Lookup get = lookup({});
    wiring_ = wiring_of(get);
    lead_ = wiring_.reference_lead / rate;
    const Settings settings = settings_of(get, rate);
    const std::lock_guard<std::mutex> lock(mutex_);
    present_ = settings;
    present_.load = load(get);
    loads_in_.put(present_.load);
    settings_in_.put(present_);
    base_filter_.emplace(present_.load.gravity, wiring_.base_filter, settings.base_timeout);
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  if (!check_model()) {
    return CallbackReturn::FAILURE;
  }
  warn_of_unknown_parameters();
  if (rate < DEFAULT_GAINS[0].rate) {
    RCLCPP_WARN(
      get_node()->get_logger(),
      "update rate of %g Hz: the default gains are for %g Hz and more; give gains.<joint>.p and d",
      rate, DEFAULT_GAINS[0].rate);
  }
  latest_ = peaks_ = diagnosed_ = Snapshot();
  refused_ = 0;
  share_ = 1.0;
  feels_ = true;
  contested_.clear();
  base_rivals_ = base_fault_ = "";
  log_stiffness(present_);
  open_topics();
  std::string names;
  for (const char * joint : JOINTS) {
    names += (names.empty() ? "" : ", ") + std::string(joint);
  }
  RCLCPP_INFO(
    get_node()->get_logger(), "control of robot '%s': %s; mode '%s', %s", ROBOT, names.c_str(),
    MODES[static_cast<std::size_t>(present_.mode)], words(present_.load).c_str());
  return CallbackReturn::SUCCESS;
}

ArmController::CallbackReturn ArmController::on_activate(const rclcpp_lifecycle::State &)
{
  const std::size_t commands = wiring_.command_interfaces.size() * N;
  if (command_interfaces_.size() != commands || state_interfaces_.size() != 2 * N) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "got %zu command and %zu state interfaces, not %zu and %zu",
      command_interfaces_.size(), state_interfaces_.size(), commands, 2 * N);
    return CallbackReturn::ERROR;
  }
  try {  // once, so that no interface of another type throws in the loop
    for (const auto & interface : command_interfaces_) {
      (void)value_of(interface);
    }
    for (const auto & interface : state_interfaces_) {
      (void)value_of(interface);
    }
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  for (const auto & interface : reference_in_) {
    (void)interface->set_value(NAN_VALUE);
  }
  take_changes();
  core_.activate(settings_);
  command_ = Command();
  now_ = 0.0;
  has_reference_ = velocity_is_written_ = false;
  references_in_.take();  // one that came before
  bases_in_.take();
  resume_ = stop_hand_ = false;
  snapshot_ = Snapshot();
  snapshot_.active = true;
  return CallbackReturn::SUCCESS;
}

ArmController::CallbackReturn ArmController::on_deactivate(const rclcpp_lifecycle::State &)
{
  if (snapshot_.sees) {
    snapshot_.last_effort = core_.holding_effort();
    write_commands(snapshot_.last_effort, snapshot_.q);
  }
  snapshot_.active = false;
  snapshots_out_.put(snapshot_);
  return CallbackReturn::SUCCESS;
}

ArmController::CallbackReturn ArmController::on_cleanup(const rclcpp_lifecycle::State &)
{
  timer_.reset();
  references_.reset();
  payloads_.reset();
  gravities_.reset();
  target_poses_.reset();
  target_twists_.reset();
  target_wrenches_.reset();
  felt_.reset();
  bases_.reset();
  resume_service_.reset();
  pose_out_.reset();
  error_out_.reset();
  external_out_.reset();
  states_out_.reset();
  efforts_out_.reset();
  diagnostics_out_.reset();
  reference_in_.clear();
  return CallbackReturn::SUCCESS;
}

bool ArmController::check_model()
{
  const std::string found = first_difference(get_robot_description());
  if (found.empty()) {
    return true;
  }
  const std::string line = "robot_description differs from the exported model: " + found +
                           "; export the package again with: " + EXPORT_COMMAND;
  if (wiring_.strict) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "%s, or set model_check: warn to use the exported model",
      line.c_str());
    return false;
  }
  RCLCPP_WARN(get_node()->get_logger(), "%s", line.c_str());
  return true;
}

void ArmController::warn_of_unknown_parameters()
{
  std::string unknown;
  const auto given = get_node()->get_node_parameters_interface()->get_parameter_overrides();
  for (const auto & [name, value] : given) {
    const bool foreign = name == "type" || name.rfind("qos_overrides.", 0) == 0;
    if (!foreign && !get_node()->has_parameter(name)) {
      unknown += (unknown.empty() ? "" : ", ") + name;
    }
  }
  if (!unknown.empty()) {
    RCLCPP_WARN(
      get_node()->get_logger(), "unknown parameters are ignored: %s", unknown.c_str());
  }
}

void ArmController::open_topics()
{
  const auto node = get_node();
  references_ = node->create_subscription<sensor_msgs::msg::JointState>(
    "~/reference", rclcpp::QoS(1).best_effort(),
    [this](const sensor_msgs::msg::JointState & msg) { on_reference(msg); });
  payloads_ = node->create_subscription<geometry_msgs::msg::InertiaStamped>(
    "~/payload", rclcpp::QoS(10),
    [this](const geometry_msgs::msg::InertiaStamped & msg) { on_payload(msg); });
  gravities_ = node->create_subscription<geometry_msgs::msg::Vector3Stamped>(
    "~/gravity", rclcpp::QoS(1).best_effort(),
    [this](const geometry_msgs::msg::Vector3Stamped & msg) { on_gravity(msg); });
  using geometry_msgs::msg::PoseStamped;
  using geometry_msgs::msg::TwistStamped;
  using geometry_msgs::msg::WrenchStamped;
  const rclcpp::QoS latest = rclcpp::QoS(1).best_effort();
  target_poses_ = node->create_subscription<PoseStamped>(
    "~/target_pose", latest,
    [this](const PoseStamped & msg) { on_target(TARGET_POSE, msg, motions_in_); });
  target_twists_ = node->create_subscription<TwistStamped>(
    "~/target_twist", latest,
    [this](const TwistStamped & msg) { on_target(TARGET_TWIST, msg, motions_in_); });
  target_wrenches_ = node->create_subscription<WrenchStamped>(
    "~/target_wrench", latest,
    [this](const WrenchStamped & msg) { on_target(TARGET_WRENCH, msg, wrenches_in_); });
  felt_ = node->create_subscription<WrenchStamped>(
    "~/force_torque", latest, [this](const WrenchStamped & msg) { on_felt(msg); });
  if (wiring_.base_motion == IMU) {
    bases_ = node->create_subscription<sensor_msgs::msg::Imu>(
      "~/imu", latest, [this](const sensor_msgs::msg::Imu & msg) { on_base(msg); });
  } else if (wiring_.base_motion == ODOM) {
    bases_ = node->create_subscription<nav_msgs::msg::Odometry>(
      "~/odom", latest, [this](const nav_msgs::msg::Odometry & msg) { on_base(msg); });
  }
  resume_service_ = node->create_service<std_srvs::srv::Trigger>(
    "~/resume", [this](
                  const std_srvs::srv::Trigger::Request::SharedPtr request,
                  std_srvs::srv::Trigger::Response::SharedPtr response) {
      on_resume(*request, *response);
    });
  // Publishers of a lifecycle node would say nothing while it is inactive
  states_out_ = rclcpp::create_publisher<control_msgs::msg::JointTrajectoryControllerState>(
    *node, "~/controller_state", rclcpp::QoS(10));
  efforts_out_ = rclcpp::create_publisher<std_msgs::msg::Float64MultiArray>(
    *node, "~/efforts", rclcpp::QoS(10));
  pose_out_ = rclcpp::create_publisher<PoseStamped>(*node, "~/cartesian_pose", rclcpp::QoS(1));
  error_out_ = rclcpp::create_publisher<TwistStamped>(*node, "~/cartesian_error", rclcpp::QoS(1));
  external_out_ = rclcpp::create_publisher<sensor_msgs::msg::JointState>(
    *node, "~/external_effort", rclcpp::QoS(1));
  diagnostics_out_ = rclcpp::create_publisher<diagnostic_msgs::msg::DiagnosticArray>(
    *node, "/diagnostics", rclcpp::QoS(10));
  timer_ = node->create_wall_timer(
    std::chrono::duration<double>(1.0 / wiring_.publish_rate), [this]() { report(); });
}

// -- the loop ----------------------------------------------------------------------------------

controller_interface::return_type ArmController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  if (const Reference * reference = references_in_.take()) {
    reference_ = *reference;
    has_reference_ = true;
  }
  return controller_interface::return_type::OK;
}

controller_interface::return_type ArmController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  // A clock of the system may jump; periods are those of the loop
  period_ = static_cast<double>(std::max<std::int64_t>(period.nanoseconds(), 0)) * 1e-9;
  now_ += period_;
  snapshot_.chained = is_in_chained_mode();
  read_states();
  take_changes();
  if (snapshot_.chained) {
    read_reference_interfaces();
  }
  if (has_reference_) {
    has_reference_ = false;
    (void)core_.set_reference(reference_, now_);
  }
  const bool commands = core_.update(q_, qd_, now_, command_);
  if (commands) {
    Vector position = snapshot_.q;
    if (command_.follows) {
      for (std::size_t i = 0; i < N; ++i) {
        const double lead = snapshot_.chained ? lead_ : 0.0;
        position[i] = command_.desired.q[i] + lead * command_.desired.qd[i];
      }
    }
    write_commands(command_.effort, position);
  }
  show(time.nanoseconds());
  return commands || command_.status != Status::silent ? controller_interface::return_type::OK
                                                       : controller_interface::return_type::ERROR;
}

void ArmController::read_states()
{
  for (std::size_t i = 0; i < N; ++i) {
    q_[i] = usable(value_of(state_interfaces_[i]));
    qd_[i] = usable(value_of(state_interfaces_[N + i]));
  }
  if (all_finite(q_) && all_finite(qd_)) {
    snapshot_.q = q_;
    snapshot_.qd = qd_;
    snapshot_.sees = true;
  }
}

void ArmController::take_changes()
{
  if (const Settings * settings = settings_in_.take()) {
    settings_ = *settings;
    core_.use(settings_);
  }
  if (const Load * load = loads_in_.take()) {
    settings_.load = *load;
    core_.carry(*load);
  }
  if (resume_.exchange(false)) {
    core_.resume();
  }
  if (stop_hand_.exchange(false)) {
    core_.stop_hand();
  }
  for (Exchange<Target> * targets : {&motions_in_, &wrenches_in_}) {
    if (const Target * target = targets->take()) {
      core_.set_target(*target, now_);
    }
  }
  if (const Six * felt = felt_in_.take()) {
    core_.feel(*felt, now_);
  }
  if (const BaseMotion * motion = bases_in_.take()) {
    core_.move_base(*motion, now_);
  }
}

void ArmController::read_reference_interfaces()
{
  Reference reference;
  reference.has_effort = wiring_.reference_effort;
  bool velocities = true;
  for (std::size_t i = 0; i < N; ++i) {
    reference.motion.q[i] = usable(value_of(*reference_in_[i]));
    const double velocity = usable(value_of(*reference_in_[N + i]));
    velocities = velocities && std::isfinite(velocity);
    reference.motion.qd[i] = std::isfinite(velocity) ? velocity : 0.0;
    const double acceleration = usable(value_of(*reference_in_[2 * N + i]));
    reference.motion.qdd[i] = std::isfinite(acceleration) ? acceleration : 0.0;
    if (wiring_.reference_effort) {
      reference.effort[i] = usable(value_of(*reference_in_[3 * N + i]), LARGEST_EFFORT);
      reference.has_effort = reference.has_effort && std::isfinite(reference.effort[i]);
    }
    // Whoever writes velocities writes them in every cycle: one that stays NaN has stopped. A
    // position stays, as preceding controllers read it back.
    (void)reference_in_[N + i]->set_value(NAN_VALUE);
  }
  velocity_is_written_ = velocity_is_written_ || velocities;
  // Feedback compares with the states of now, but the references are those of the next cycle
  for (std::size_t i = 0; i < N; ++i) {
    Motion & motion = reference.motion;
    motion.q[i] -= lead_ * (motion.qd[i] - lead_ / 2.0 * motion.qdd[i]);
    motion.qd[i] -= lead_ * motion.qdd[i];
  }
  if (all_finite(reference.motion.q) && (velocities || !velocity_is_written_)) {
    reference_ = reference;
    has_reference_ = true;
  }
}

void ArmController::write_commands(const Vector & effort, const Vector & position)
{
  std::size_t k = 0;
  bool written = true;
  for (const std::string & interface : wiring_.command_interfaces) {
    const bool efforts = interface[0] == 'e';
    for (std::size_t i = 0; i < N; ++i, ++k) {
      double value = efforts ? effort[i] : std::min(std::max(position[i], LOWER[i]), UPPER[i]);
      if (efforts && wiring_.actuator_space) {
        value = 0.0;
        for (std::size_t j = 0; j < N; ++j) {
          value += wiring_.to_actuators[i * N + j] * effort[j];
        }
      }
      written = command_interfaces_[k].set_value(value, 1) && written;
    }
  }
  snapshot_.unwritten += written ? 0 : 1;
}

void ArmController::show(std::int64_t stamp)
{
  if (snapshots_out_.taken()) {
    snapshot_.longest_period = 0.0;
    snapshot_.largest_error = {};
  }
  snapshot_.stamp = stamp;
  snapshot_.mode = settings_.mode;
  snapshot_.command = command_;
  snapshot_.longest_period = std::max(snapshot_.longest_period, period_);
  snapshot_.time += period_;
  snapshot_.elapsed = now_;
  ++snapshot_.cycles;
  for (std::size_t i = 0; i < N; ++i) {
    snapshot_.saturated[i] += command_.saturated[i] ? 1 : 0;
    snapshot_.largest_error[i] =
      std::max(snapshot_.largest_error[i], std::abs(command_.error[i]));
  }
  snapshots_out_.put(snapshot_);
}

// -- parameters, in other threads --------------------------------------------------------------

Lookup ArmController::lookup(const Parameters & asked) const
{
  return [this, asked](const std::string & name) {
    for (const rclcpp::Parameter & parameter : asked) {
      if (parameter.get_name() == name) {
        return parameter;
      }
    }
    return get_node()->get_parameter(name);
  };
}

Load ArmController::load(const Lookup & get) const
{
  Load load = load_of(get);
  if (gravity_ && get("compensate_gravity").as_bool()) {
    load.gravity = *gravity_;
  }
  return load;
}

rcl_interfaces::msg::SetParametersResult ArmController::check(const Parameters & asked)
{
  rcl_interfaces::msg::SetParametersResult result;
  result.successful = true;
  try {
    const Lookup get = lookup(asked);
    bool loads = false;
    for (const rclcpp::Parameter & parameter : asked) {
      check_numbers(parameter);
      loads = loads || is_of_load(parameter.get_name());
    }
    const Settings settings = settings_of(get, get_update_rate());
    const std::lock_guard<std::mutex> lock(mutex_);
    if (loads && latest_.active && latest_.sees) {
      const double mass = settings.load.payload[0];
      const bool heavier = mass != present_.load.payload[0];
      check_load(
        heavier ? "payload of " + text(mass) + " kg" : "load", latest_.q, present_.load,
        load(get), present_);
    }
  } catch (const std::exception & error) {
    result.successful = false;
    result.reason = error.what();
  }
  return result;
}

void ArmController::apply(const Parameters & changed)
{
  const auto logger = get_node()->get_logger();
  try {
    const Lookup get = lookup({});
    const Settings settings = settings_of(get, get_update_rate());
    const std::lock_guard<std::mutex> lock(mutex_);
    bool loads = false;
    bool others = false;
    for (const rclcpp::Parameter & parameter : changed) {
      const std::string & name = parameter.get_name();
      (is_of_load(name) ? loads : others) = true;
      if (name == "gravity") {
        gravity_.reset();  // the later one counts
      }
    }
    if (settings.mode != present_.mode) {
      RCLCPP_INFO(
        logger, "mode '%s', before '%s'", MODES[static_cast<std::size_t>(settings.mode)],
        MODES[static_cast<std::size_t>(present_.mode)]);
    }
    log_stiffness(settings);
    present_ = settings;
    present_.load = load(get);
    // The load first: the loop takes it last, and so never an older one than that of the settings
    loads_in_.put(present_.load);
    if (others) {
      settings_in_.put(present_);
    }
    if (loads) {
      RCLCPP_INFO(logger, "%s", words(present_.load).c_str());
    }
  } catch (const std::exception & error) {
    RCLCPP_ERROR(logger, "%s", error.what());
  }
}

// -- messages, in other threads ----------------------------------------------------------------

void ArmController::refuse(const char * topic, const std::string & line)
{
  ++refused_;
  warn_seldom(topic, std::string(topic) + " refused: " + line);
}

void ArmController::warn_seldom(const std::string & topic, const std::string & line)
{
  const auto now = std::chrono::steady_clock::now();
  const auto last = warned_at_.find(topic);
  if (last == warned_at_.end() || now - last->second > REPEAT_AFTER) {
    warned_at_[topic] = now;
    RCLCPP_WARN(get_node()->get_logger(), "%s", line.c_str());
  }
}

template <typename Msg>
void ArmController::on_target(const char * topic, const Msg & msg, Exchange<Target> & to)
{
  std::string line = why_ignored(topic);
  if (line.empty()) {
    try {
      Target target = target_of(msg);
      if (target.kind == Target::Kind::wrench) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const HandState & hand = latest_.command.hand;
        const Vector effort = wrench_effort(present_.task, hand.target, target, latest_.q);
        check_wrench(effort, latest_.q, present_);
      }
      const Timeouts timeouts = timeouts_of(lookup({}));
      target.lasts =
        target.kind == Target::Kind::wrench ? timeouts.wrench : timeouts.twist;
      to.put(target);
      return;
    } catch (const Refusal & error) {
      line = std::string(topic) + " is ignored: " + error.what();
    }
  }
  ++refused_;
  warn_seldom(topic, line);
}

void ArmController::on_felt(const geometry_msgs::msg::WrenchStamped & msg)
{
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!latest_.active || !in_task_space(present_.mode) || !present_.task.feels) {
      return;
    }
  }
  try {
    felt_in_.put(felt_of(msg));
  } catch (const Refusal & error) {
    ++refused_;
    warn_seldom(FELT, std::string(FELT) + " is ignored: " + error.what());
  }
}

template <typename Msg>
void ArmController::on_base(const Msg & msg)
{
  const std::string & topic = wiring_.base_motion;
  try {
    if (!follows_base()) {
      return;
    }
    const double now = get_node()->now().seconds();
    const double stamp = rclcpp::Time(msg.header.stamp).seconds();
    const double age = stamp > 0.0 ? now - stamp : 0.0;
    double timeout;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      timeout = present_.base_timeout;
    }
    if (age > timeout && age < ANOTHER_CLOCK) {
      throw Refusal("it is " + text(age, "%.2g") + " s old");
    }
    bases_in_.put(base_motion_of(msg, *base_filter_, stamp > 0.0 ? stamp : now));
  } catch (const Refusal & error) {
    ++refused_;
    warn_seldom(topic, topic + ": " + error.what() + "; the message is ignored");
  }
}

bool ArmController::follows_base()
{
  if (bases_->get_publisher_count() < 2) {
    base_rivals_.clear();
    return true;
  }
  // A driver that is started again under its name is followed, although the old one still counts
  std::set<std::string> names;
  for (const auto & info : get_node()->get_publishers_info_by_topic(bases_->get_topic_name())) {
    const std::string space = info.node_namespace();
    names.insert(space + (space == "/" ? "" : "/") + info.node_name());
  }
  base_rivals_.clear();
  if (names.size() > 1) {
    for (const std::string & name : names) {
      base_rivals_ += (base_rivals_.empty() ? "" : " and ") + name;
    }
  }
  return names.size() == 1;
}

std::string ArmController::why_ignored(const char * topic)
{
  const std::string ignored = std::string(topic) + " is ignored: ";
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!in_task_space(present_.mode)) {
      return ignored + "mode '" + MODES[static_cast<std::size_t>(present_.mode)] +
             "' controls the joints; set the parameter mode to cartesian_impedance or "
             "operational_space";
    }
    if (!latest_.active) {
      return ignored + "the controller is not active";
    }
  }
  if (!has_one_publisher(topic)) {
    const auto line = contested_.find(topic);
    return line == contested_.end() ? std::string(topic) + " has several publishers" : line->second;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const Status status = latest_.command.status;
  const bool sees =
    status != Status::waiting && status != Status::blind && status != Status::silent;
  return sees ? "" : ignored + "no joint_states come";
}

bool ArmController::has_one_publisher(const char * topic)
{
  const auto node = get_node();
  const std::string name = std::string(node->get_fully_qualified_name()) + "/" + topic;
  if (node->count_publishers(name) < 2) {
    if (contested_.erase(topic) > 0) {
      RCLCPP_INFO(
        node->get_logger(), "%s has one publisher and is followed again", topic);
    }
    return true;
  }
  stop_hand_ = true;
  if (contested_.count(topic) == 0) {
    std::vector<std::string> names;
    for (const auto & info : node->get_publishers_info_by_topic(name)) {
      const std::string space = info.node_namespace();
      names.push_back(space + (space == "/" ? "" : "/") + info.node_name());
    }
    if (names.size() < 2) {  // one is not discovered yet
      return false;
    }
    std::sort(names.begin(), names.end());
    std::string joined;
    for (const std::string & publisher : names) {
      joined += (joined.empty() ? "" : " and ") + publisher;
    }
    contested_[topic] = std::string(topic) + " is published by " + joined +
                        ": the hand follows none of them until one is left";
    warned_at_[topic] = std::chrono::steady_clock::now();
    RCLCPP_WARN(node->get_logger(), "%s", contested_[topic].c_str());
  }
  return false;
}

void ArmController::on_reference(const sensor_msgs::msg::JointState & msg)
{
  try {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (latest_.active && latest_.chained) {
        throw Refusal("a preceding controller sends the references");
      }
    }
    references_in_.put(reference_of(msg));
  } catch (const Refusal & error) {
    refuse("reference", error.what());
  }
}

void ArmController::on_payload(const geometry_msgs::msg::InertiaStamped & msg)
{
  const std::string & frame = msg.header.frame_id;
  if (CARRIES_PAYLOAD && !frame.empty() && frame != PAYLOAD_FRAME) {
    refuse("payload", "frame '" + frame + "' is not '" + PAYLOAD_FRAME + "'");
    return;
  }
  const auto & body = msg.inertia;
  const rcl_interfaces::msg::SetParametersResult result = get_node()->set_parameters_atomically(
    {rclcpp::Parameter("payload.mass", body.m),
     rclcpp::Parameter("payload.com", std::vector<double>{body.com.x, body.com.y, body.com.z}),
     rclcpp::Parameter(
       "payload.inertia",
       std::vector<double>{body.ixx, body.ixy, body.ixz, body.iyy, body.iyz, body.izz})});
  if (!result.successful) {
    refuse("payload", result.reason);
  }
}

void ArmController::on_gravity(const geometry_msgs::msg::Vector3Stamped & msg)
{
  const std::string & frame = msg.header.frame_id;
  const std::array<double, 3> gravity = {{msg.vector.x, msg.vector.y, msg.vector.z}};
  try {
    if (wiring_.base_motion != NO_BASE_MOTION) {
      throw Refusal("gravity comes from " + wiring_.base_motion);
    }
    if (!frame.empty() && frame != ROOT) {
      throw Refusal("frame '" + frame + "' is not the root link '" + ROOT + "'");
    }
    check_gravity(gravity);
    const Lookup get = lookup({});
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto before = std::exchange(gravity_, gravity);
    const Load wanted = load(get);
    try {
      if (latest_.active && latest_.sees) {
        check_load("gravity", latest_.q, present_.load, wanted, present_);
      }
    } catch (...) {
      gravity_ = before;
      throw;
    }
    present_.load = wanted;
    loads_in_.put(wanted);
  } catch (const Refusal & error) {
    refuse("gravity", error.what());
  }
}

void ArmController::on_resume(
  const std_srvs::srv::Trigger::Request &, std_srvs::srv::Trigger::Response & response)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  response.success = latest_.active && latest_.command.stop.cause != Cause::none;
  resume_ = response.success;
  response.message = response.success ? "holding the position; a new trajectory moves the arm"
                                      : "not stopped";
}

// -- reports, in the thread of the timer -------------------------------------------------------

void ArmController::report()
{
  if (const Snapshot * next = snapshots_out_.take()) {
    Snapshot before;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      before = std::exchange(latest_, *next);
      peaks_ = with_extremes(latest_, peaks_);
    }
    log(before, latest_);
    log_hand(before, latest_);
    log_base(latest_);
    if (latest_.active && latest_.sees) {
      fill(state_msg_, latest_);
      states_out_->publish(state_msg_);
      fill(efforts_msg_, latest_);
      efforts_out_->publish(efforts_msg_);
      publish_hand();
    }
  }
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::steady_clock::now().time_since_epoch())
                             .count();
  if (now - diagnosed_at_ >= DIAGNOSTICS_PERIOD) {
    diagnosed_at_ = now;
    for (const char * topic : {TARGET_POSE, TARGET_TWIST, TARGET_WRENCH}) {
      if (latest_.active && latest_.command.hand.known) {
        has_one_publisher(topic);
      }
    }
    publish_diagnostics();
  }
}

void ArmController::log(const Snapshot & before, const Snapshot & now)
{
  const auto logger = get_node()->get_logger();
  if (!now.active) {
    if (before.active) {
      RCLCPP_INFO(logger, "%s", farewell(now).c_str());
    }
    return;
  }
  const Command & command = now.command;
  const std::size_t was_braked_by = before.active ? before.command.braked_by : N;
  if (command.braked_by < N && command.braked_by != was_braked_by) {
    RCLCPP_WARN(
      logger,
      "%s does not move although it is pushed; is its brake closed? The controller keeps trying",
      joint_text(command.braked_by).c_str());
  } else if (command.braked_by == N && was_braked_by < N) {
    RCLCPP_INFO(logger, "the joints move");
  }
  const bool stopped_by_contact = command.stop.cause == Cause::collision;
  const std::size_t was_touched = before.active ? before.command.touched : N;
  if (command.touched != was_touched && !stopped_by_contact) {
    if (command.touched < N) {
      RCLCPP_WARN(logger, "%s", contact(command).c_str());
    } else {
      RCLCPP_INFO(logger, "no external effort beyond its threshold any more");
    }
  }
  const bool same = before.active && before.command.status == command.status;
  if (same || command.braked_by < N) {
    return;
  }
  const std::string line = words(command.status, in_task_space(now.mode));
  switch (command.status) {
    case Status::waiting: break;
    case Status::stopped:
      RCLCPP_WARN(
        logger, "%s: %s; call %s/resume to go on", line.c_str(),
        reason(command.stop, now.q).c_str(), get_node()->get_fully_qualified_name());
      break;
    case Status::blind: RCLCPP_WARN(logger, "%s", line.c_str()); break;
    case Status::silent:
      RCLCPP_ERROR(
        logger,
        "%s; the hardware keeps the last efforts, or brakes: stop the arm, then look why they do "
        "not come",
        line.c_str());
      break;
    default: RCLCPP_INFO(logger, "%s", line.c_str());
  }
}

void ArmController::log_hand(const Snapshot & before, const Snapshot & now)
{
  const HandState & hand = now.command.hand;
  if (!now.active || !hand.known) {
    return;
  }
  const auto logger = get_node()->get_logger();
  if (before.command.hand.known && hand.ended > before.command.hand.ended) {
    RCLCPP_WARN(logger, "%s has ended: the hand comes to rest", TARGET_TWIST);
  }
  TaskSettings task;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    task = present_.task;
  }
  const bool feels = !task.feels || !presses(task) || hand.feels;
  if (task.feels && feels != feels_) {
    if (feels) {
      RCLCPP_INFO(logger, "%s comes: the force is controlled by it", FELT);
    } else {
      RCLCPP_WARN(
        logger, "no %s for %g s: the hand presses without feedback", FELT, task.feel_timeout);
    }
  }
  feels_ = feels;
  const Status status = now.command.status;
  const Pose at = frame_pose(now.q, HAND_FRAME);
  double distance = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    distance = std::hypot(distance, hand.goal.position[i] - at.position[i]);
  }
  const bool follows = status == Status::tracking || status == Status::holding;
  const bool far = follows && hand.given != Target::Kind::none && hand.singularity > STRETCHED;
  if (!far || distance < SHORT || !hand.rests) {
    far_since_ = now.elapsed;
    far_is_logged_ = false;
  } else if (now.elapsed - far_since_ > PATIENCE && !far_is_logged_) {
    far_is_logged_ = true;
    RCLCPP_WARN(
      logger,
      "the hand stays %.3g m from its target, which is out of reach: the arm is stretched towards "
      "it",
      distance);
  }
}

void ArmController::log_base(const Snapshot & now)
{
  if (wiring_.base_motion == NO_BASE_MOTION || !now.active) {
    base_since_ = 0.0;
    return;
  }
  const std::string & topic = wiring_.base_motion;
  const std::string still = "the base counts as still, under gravity in the last known direction";
  (void)follows_base();  // rivals may have ended without another message
  double timeout;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    timeout = present_.base_timeout;
  }
  std::string fault;
  if (!base_rivals_.empty()) {
    fault = topic + " is published by " + base_rivals_ + "; " + still + ", until one is left";
  } else if (now.command.base_moves) {
    base_since_ = now.elapsed;
  } else if (now.elapsed - base_since_ > timeout) {
    fault = "no " + topic + " for " + text(timeout) + " s; " + still;
  }
  if (fault != base_fault_) {
    if (fault.empty()) {
      RCLCPP_INFO(
        get_node()->get_logger(), "%s again: the base moves as measured", topic.c_str());
    } else {
      RCLCPP_WARN(get_node()->get_logger(), "%s", fault.c_str());
    }
    base_fault_ = fault;
  }
}

void ArmController::log_stiffness(const Settings & settings)
{
  const double share = settings.task.share * settings.task.share;
  if (!in_task_space(settings.mode)) {
    return;
  }
  if (share < LOWER_SHARE * share_) {
    RCLCPP_WARN(
      get_node()->get_logger(),
      "the stiffness of the hand is too high for the update rate: %.2g %% of it is used",
      100.0 * share);
  } else if (share == 1.0 && share_ < 1.0) {
    RCLCPP_INFO(get_node()->get_logger(), "the whole stiffness of the hand is used again");
  } else {
    return;
  }
  share_ = share;
}

void ArmController::publish_hand()
{
  const Snapshot & now = latest_;
  if (external_out_->get_subscription_count() > 0) {
    sensor_msgs::msg::JointState msg;
    msg.header.stamp = state_msg_.header.stamp;
    msg.name.assign(JOINTS.begin(), JOINTS.end());
    msg.effort.assign(now.command.external.begin(), now.command.external.end());
    external_out_->publish(msg);
  }
  const bool poses = pose_out_->get_subscription_count() > 0;
  const bool errors =
    now.command.hand.known && error_out_->get_subscription_count() > 0;
  if (!in_task_space(now.mode) || !(poses || errors)) {
    return;
  }
  const Pose pose = frame_pose(now.q, HAND_FRAME);
  std_msgs::msg::Header header;
  header.stamp = state_msg_.header.stamp;
  header.frame_id = ROOT;
  if (poses) {
    geometry_msgs::msg::PoseStamped msg;
    msg.header = header;
    fill(msg.pose, pose);
    pose_out_->publish(msg);
  }
  if (errors) {
    geometry_msgs::msg::TwistStamped msg;
    msg.header = header;
    fill(msg.twist, way_between(pose, now.command.hand.target));
    error_out_->publish(msg);
  }
}

void ArmController::publish_diagnostics()
{
  Facts facts;
  facts.name = get_node()->get_name();
  facts.update_rate = get_update_rate();
  Snapshot snapshot;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshot = since(with_extremes(latest_, peaks_), diagnosed_);
    diagnosed_ = latest_;
    peaks_ = Snapshot();
    facts.mode = MODES[static_cast<std::size_t>(present_.mode)];
    facts.load = words(present_.load);
    facts.refused = refused_;
    facts.feels = present_.task.feels;
    facts.base = base_fault_;
    facts.stiffness = present_.task.share * present_.task.share;
    const DefaultGains & usual = default_gains(facts.update_rate);
    const bool given = present_.kp != usual.kp || present_.kd != usual.kd;
    facts.gains = given ? "of the parameters" : "default of " + text(usual.rate) + " Hz";
  }
  diagnostic_msgs::msg::DiagnosticArray msg;
  msg.header.stamp = get_node()->now();
  msg.status.push_back(diagnostics(snapshot, facts));
  diagnostics_out_->publish(msg);
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(
  @package@::ArmController, controller_interface::ChainableControllerInterface)
