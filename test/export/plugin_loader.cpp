// Loads the plugin of an exported package as a controller_manager does, and configures it.

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
  rclcpp::init(argc, argv);
  pluginlib::ClassLoader<Base> loader(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  const auto controller = loader.createSharedInstance(argv[1]);
  std::stringstream urdf;
  urdf << std::ifstream(argv[2]).rdbuf();
  controller_interface::ControllerInterfaceParams parameters;
  parameters.controller_name = "arm_controller";
  parameters.robot_description = urdf.str();
  parameters.update_rate = 500;
  parameters.controller_manager_update_rate = 500;
  parameters.node_options = controller->define_custom_node_options();
  if (controller->init(parameters) != controller_interface::return_type::OK) {
    std::puts("not initialized");
    return 1;
  }
  controller->configure();
  std::puts(controller->get_lifecycle_state().label().c_str());
  for (const std::string & name : controller->command_interface_configuration().names) {
    std::puts(name.c_str());
  }
  return 0;
}
