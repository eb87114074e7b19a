// Loads the model controller as a controller_manager does, and configures it.
//
//   loader URDF PARAMETERS.yaml [PARAMETER...]
//
// It prints the state, the command interfaces, and the values of parameters.

#include <cstdio>
#include <fstream>
#include <sstream>

#include "controller_interface/chainable_controller_interface.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

using Base = controller_interface::ChainableControllerInterface;

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
  for (int i = 3; i < argc; ++i) {
    std::puts(controller->get_node()->get_parameter(argv[i]).value_to_string().c_str());
  }
  return 0;
}
