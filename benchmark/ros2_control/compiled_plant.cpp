// CompiledPlant: a hardware component that simulates an arm, its drives, and faults of its driver.
//
// Parameters and log: see __init__.py and plant_log.py of this folder.
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiled_arm.hpp"
#include "fault.hpp"
#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "mujoco_arm.hpp"
#include "plant_log.hpp"
#include "pluginlib/class_list_macros.hpp"

// The interfaces with pointers work in all versions of Jazzy
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace compiled_plant
{

class CompiledPlant : public hardware_interface::SystemInterface
{
public:
  hardware_interface::CallbackReturn on_init(const hardware_interface::HardwareInfo & info) override
  {
    using hardware_interface::CallbackReturn;
    if (hardware_interface::SystemInterface::on_init(info) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    try {
      arm_ = simulated_arm();
      fault_ = std::make_unique<Fault>(
        text("fault"), number("fault_after"), number("fault_for"), arm_->q);
      nan_file_ = text("nan_file");
      on_stop_ = text("on_stop");
      noise_ = number("velocity_noise");
      rows_ = static_cast<std::size_t>(std::stoul(text("log_rows")));
      index_joints();
    } catch (const std::exception & error) {
      RCLCPP_FATAL(rclcpp::get_logger("CompiledPlant"), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    const std::size_t n = info_.joints.size();
    state_ = measured_ = {arm_->q, std::vector<double>(n, 0.0)};
    effort_.assign(n, 0.0);
    forget_commands();
    return CallbackReturn::SUCCESS;
  }

  std::vector<hardware_interface::StateInterface> export_state_interfaces() override
  {
    std::vector<hardware_interface::StateInterface> states;
    for (const auto & joint : info_.joints) {
      const std::size_t i = index_.at(joint.name);
      states.emplace_back(joint.name, hardware_interface::HW_IF_POSITION, &state_.q[i]);
      states.emplace_back(joint.name, hardware_interface::HW_IF_VELOCITY, &state_.qd[i]);
      states.emplace_back(joint.name, hardware_interface::HW_IF_EFFORT, &effort_[i]);
    }
    return states;
  }

  std::vector<hardware_interface::CommandInterface> export_command_interfaces() override
  {
    std::vector<hardware_interface::CommandInterface> commands;
    for (const auto & joint : info_.joints) {
      for (const auto & interface : joint.command_interfaces) {
        commands.emplace_back(
          joint.name, interface.name, &values_of(interface.name)[index_.at(joint.name)]);
      }
    }
    return commands;
  }

  hardware_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    if (!log_) {
      log_ = std::make_unique<Log>(text("log"), kFields + 4 * arm_->q.size(), rows_);
    }
    return hardware_interface::CallbackReturn::SUCCESS;
  }

  hardware_interface::return_type perform_command_mode_switch(
    const std::vector<std::string> &, const std::vector<std::string> & stopped) override
  {
    if (!stopped.empty() && on_stop_ == "brake") {
      arm_->brake();
      forget_commands();
    }
    if (!stopped.empty() && on_stop_ == "zero") {
      arm_->zero();
    }
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type read(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    period_ = period.seconds();
    const double passed = std::clamp(period_, 0.0, kLongestPeriod);
    now_ += passed;
    arm_->step(passed);
    fault_->watch(now_, arm_->q);
    arm_->clamp(fault_->closes_brakes());
    blind_ = !nan_file_.empty() && ::access(nan_file_.c_str(), F_OK) == 0;
    measured_ = {arm_->q, arm_->qd};
    for (double & velocity : measured_.qd) {
      velocity += noise_ * normal_(random_);
    }
    state_ = fault_->report(now_, measured_);
    for (std::size_t i = 0; i < arm_->q.size(); ++i) {
      state_.q[i] = blind_ ? kNone : state_.q[i];
      state_.qd[i] = blind_ ? kNone : state_.qd[i];
      effort_[i] = blind_ ? kNone : arm_->tau[i];
    }
    read_ = log_ ? log_->elapsed() : 0.0;
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    if (!fault_->loses_commands()) {
      arm_->command(command_);
    }
    double * row = log_ ? log_->row() : nullptr;
    if (row != nullptr) {
      row[0] = read_;
      row[1] = period_;
      row[2] = log_->elapsed() - read_;  // what the controllers took
      row[3] = (arm_->braked() ? 1.0 : 0.0) + (blind_ ? 2.0 : 0.0) + (fault_->due() ? 4.0 : 0.0);
      row += kFields;
      for (const auto * values : {&arm_->q, &arm_->qd, &command_.effort, &arm_->tau}) {
        row = std::copy(values->begin(), values->end(), row);
      }
      log_->commit();
    }
    return hardware_interface::return_type::OK;
  }

private:
  static constexpr std::size_t kFields = 4;
  // An arm moves on while its computer is late; beyond this, s, its clock was set
  static constexpr double kLongestPeriod = 1.0;

  std::string text(const std::string & name) const
  {
    const auto found = info_.hardware_parameters.find(name);
    return found == info_.hardware_parameters.end() ? std::string() : found->second;
  }

  double number(const std::string & name, double missing = 0.0) const
  {
    return text(name).empty() ? missing : std::stod(text(name));
  }

  // A number for each joint; none where the parameter is missing and may be
  std::vector<double> numbers(const std::string & name, bool optional = false) const
  {
    std::istringstream words(text(name));
    std::vector<double> values;
    for (std::string word; words >> word; ) {
      values.push_back(std::stod(word));  // reads "inf", which >> does not
    }
    if (values.empty() && optional) {
      return values;
    }
    if (values.size() != info_.joints.size()) {
      throw std::runtime_error(
        name + ": got " + std::to_string(values.size()) + " numbers for " +
        std::to_string(info_.joints.size()) + " joints");
    }
    return values;
  }

  static Forward kernel(const std::string & path)
  {
    void * library = ::dlopen(path.c_str(), RTLD_NOW);
    void * symbol = library != nullptr ? ::dlsym(library, "plant_forward") : nullptr;
    if (symbol == nullptr) {
      throw std::runtime_error("kernel: " + std::string(::dlerror()));
    }
    return reinterpret_cast<Forward>(symbol);
  }

  std::unique_ptr<Arm> simulated_arm() const
  {
    const Drives drives{
      numbers("effort"), numbers("drive_kp", true), numbers("drive_kd", true),
      number("effort_rate"), number("watchdog"), number("first_position", kNone),
      text("nan_position") == "zero_effort"};
    if (!text("model").empty()) {
      const Added added{
        number("added_gravity"), number("added_coriolis"), number("added_viscous"),
        number("added_coulomb")};
      return std::make_unique<MujocoArm>(
        text("model"), numbers("initial_positions"), drives, added);
    }
    const Parameters parameters{
      numbers("initial_positions"), numbers("effort"), numbers("lower"), numbers("upper"),
      numbers("viscous"), numbers("coulomb")};
    return std::make_unique<CompiledArm>(kernel(text("kernel")), parameters, drives);
  }

  // The interfaces may name the joints in another order than the arm
  void index_joints()
  {
    std::istringstream words(text("joints"));
    for (std::string name; words >> name; ) {
      index_.emplace(name, index_.size());
    }
    for (const auto & joint : info_.joints) {
      (void)index_.at(joint.name);
    }
  }

  std::vector<double> & values_of(const std::string & interface)
  {
    return interface == hardware_interface::HW_IF_POSITION ? command_.position :
           interface == hardware_interface::HW_IF_VELOCITY ? command_.velocity : command_.effort;
  }

  void forget_commands()
  {
    const std::vector<double> none(info_.joints.size(), kNone);
    command_ = {none, none, none};
  }

  std::unique_ptr<Arm> arm_;
  std::unique_ptr<Fault> fault_;
  std::unique_ptr<Log> log_;
  std::map<std::string, std::size_t> index_;  // of joints in the vectors of the arm
  Reported state_, measured_;
  std::vector<double> effort_;
  Command command_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::string nan_file_, on_stop_;
  std::size_t rows_ = 0;
  double period_ = 0.0, read_ = 0.0, now_ = 0.0, noise_ = 0.0;
  bool blind_ = false;
};

}  // namespace compiled_plant

PLUGINLIB_EXPORT_CLASS(compiled_plant::CompiledPlant, hardware_interface::SystemInterface)
