"""Measurements in the real ros2_control, with a plant that integrates the equations of an arm.

    source /opt/ros/jazzy/setup.bash
    python -m benchmark.ros2_control                    tracking of four wirings, two robots
    python -m benchmark.ros2_control --only a b --robots ur5
    python -m benchmark.ros2_control.scenarios          activation, faults, switches
    python -m benchmark.ros2_control.timing             update() of a controller, 1e6 times

It needs controller_manager, joint_trajectory_controller, forward_command_controller,
joint_state_broadcaster and colcon of a sourced ROS 2 installation. `--setup FILE` sources a file
for the processes of ROS instead. Everything is built in a temporary folder, or in `--workspace`.

`CompiledPlant` (compiled_plant.hpp, compiled_plant.cpp) is a hardware component: effort commands
in; position, velocity and effort out. Between two cycles it integrates the forward dynamics of
the robot with other masses (10 % more by default), compiled from C that the package writes, and
friction. It logs every cycle into a file that lasts when its process is killed, which is what all
results are computed from. Parameters of the component, in `<hardware>` of the URDF:

| parameter | meaning |
| --- | --- |
| kernel | shared library with the function plant_forward(q, qd, tau, qdd) |
| log, log_rows | file of the log, and its size in cycles |
| initial_positions | rad or m, separated by spaces |
| effort, lower, upper | limits of the joints; commands are clipped, joints stop |
| viscous, coulomb | friction, N m s/rad or N s/m, and N m or N |
| on_stop | keep (the last command goes on, the default), zero or brake, when a controller stops |
| nan_file | states are NaN while this file exists |

The Python files: `arms` writes descriptions and kernels, `workspace` builds packages, `system` runs
processes, `plant_log` reads the log, `tracking`, `scenarios` and `timing` measure.
"""
