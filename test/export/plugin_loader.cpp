// Loads the model controller as a controller_manager does, and configures it.
//
//   loader URDF PARAMETERS.yaml [PARAMETER...] [NAME=STATE...]
//
// It prints the state, the command interfaces, and the values of parameters. With states by the
// names of their interfaces, it runs cycles in which they stay as they are, and prints the command.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "hardware_interface/loaned_command_interface.hpp"
#include "hardware_interface/loaned_state_interface.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

using Base = controller_interface::ChainableControllerInterface;

constexpr int CYCLES = 1000;

/// Return the interfaces of these names.
template <typename Interface>
std::vector<std::shared_ptr<Interface>> made(const std::vector<std::string> & names)
{
  std::vector<std::shared_ptr<Interface>> found;
  for (const std::string & name : names) {
    const auto at = name.rfind('/');
    found.push_back(std::make_shared<Interface>(name.substr(0, at), name.substr(at + 1)));
    (void)found.back()->set_value(0.0);
  }
  return found;
}

/// Run cycles of 2 ms, each in at least 1 ms, and print the command of the last one.
void run(Base & controller, const std::map<std::string, double> & values)
{
  using hardware_interface::CommandInterface;
  using hardware_interface::StateInterface;
  const auto states = made<StateInterface>(controller.state_interface_configuration().names);
  const auto commands = made<CommandInterface>(controller.command_interface_configuration().names);
  std::vector<hardware_interface::LoanedStateInterface> loaned_states;
  std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
  for (const auto & state : states) {
    const auto given = values.find(state->get_name());
    (void)state->set_value(given == values.end() ? 0.0 : given->second);
    loaned_states.emplace_back(state);
  }
  for (const auto & command : commands) {
    loaned_commands.emplace_back(command, []() {});
  }
  controller.assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
  controller.get_node()->activate();
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(controller.get_node()->get_node_base_interface());
  const rclcpp::Duration period(0, 2000000);
  for (int k = 1; k <= CYCLES; ++k) {
    (void)controller.update(rclcpp::Time(k * period.nanoseconds()), period);
    executor.spin_some();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const auto & command : commands) {
    std::printf("%.9g\n", command->get_optional().value_or(0.0));
  }
  controller.release_interfaces();
}

int main(int argc, char ** argv)
{
  rclcpp::init(1, argv);
  pluginlib::ClassLoader<Base> loader(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  const auto controller =
    loader.createSharedInstance("robot_dynamics_controllers/ModelController");
  std::stringstream urdf;
  urdf << std::ifstream(argv[1]).rdbuf();
  controller_interface::ControllerInterfaceParams parameters;
  parameters.controller_name = "arm_controller";
  parameters.robot_description = urdf.str();
  parameters.update_rate = 500;
  parameters.controller_manager_update_rate = 500;
  parameters.node_options = controller->define_custom_node_options();
  parameters.node_options.arguments({"--ros-args", "--params-file", argv[2]});
  if (controller->init(parameters) != controller_interface::return_type::OK) {
    std::puts("not initialized");
    return 1;
  }
  controller->configure();
  std::puts(controller->get_lifecycle_state().label().c_str());
  for (const std::string & name : controller->command_interface_configuration().names) {
    std::puts(name.c_str());
  }
  std::map<std::string, double> states;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const auto at = word.find('=');
    if (at == std::string::npos) {
      std::puts(controller->get_node()->get_parameter(word).value_to_string().c_str());
    } else {
      states[word.substr(0, at)] = std::stod(word.substr(at + 1));
    }
  }
  if (!states.empty()) {
    run(*controller, states);
  }
  return 0;
}
