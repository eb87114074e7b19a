"""Measurements in the real ros2_control, with a plant that integrates the equations of an arm.

    source /opt/ros/jazzy/setup.bash
    python -m benchmark.ros2_control                    tracking of four wirings, two robots
    python -m benchmark.ros2_control --only a b --robots ur5
    python -m benchmark.ros2_control.scenarios          activation, faults, switches
    python -m benchmark.ros2_control.timing             update() of a controller, 1e6 times
    python -m benchmark.ros2_control.drivers            arms behind their drivers
    python -m benchmark.ros2_control.wrong_profiles     profiles that do not fit the robot

It needs controller_manager, joint_trajectory_controller, forward_command_controller,
joint_state_broadcaster and colcon of a sourced ROS 2 installation. `--setup FILE` sources a file
for the processes of ROS instead. Everything is built in a temporary folder, or in `--workspace`.

`CompiledPlant` (compiled_plant.cpp) is a hardware component: effort commands in; position, velocity
and effort out. Between two cycles it simulates the arm: by forward dynamics that are compiled from
C that the package writes, with other masses (10 % more by default) and friction (compiled_arm.hpp),
or by MuJoCo (mujoco_arm.hpp). It logs every cycle into a file that lasts when its process is
killed, which is what all results are computed from. Parameters of the component, in `<hardware>` of
the URDF; numbers for each joint are separated by spaces:

| parameter | meaning |
| --- | --- |
| joints | names, in the order of the other parameters; interfaces may have another one |
| log, log_rows | file of the log, and its size in cycles |
| initial_positions | rad or m |
| effort | limits of the joints, to which commands are clipped, N m or N |
| kernel | shared library with the function plant_forward(q, qd, tau, qdd) |
| lower, upper | of a kernel: ranges, at whose ends joints stop |
| viscous, coulomb | of a kernel: friction, N m s/rad or N s/m, and N m or N |
| model | a model of MuJoCo (.mjb) in place of a kernel |
| velocity_noise | standard deviation of the velocities, rad/s or m/s |
| on_stop | keep (the last command goes on, the default), zero or brake, when a controller stops |
| nan_file | states are NaN while this file exists |
| fault, fault_after, fault_for | kind (fault.hpp), time after the begin of a motion, duration, s |

Traits of robots that can be bought, none by default (arm.hpp):

| parameter | meaning |
| --- | --- |
| drive_kp, drive_kd | PD of each drive at 10 kHz on the interfaces position and velocity |
| first_position | position command before any controller |
| nan_position | zero_effort: a joint without a position command has no effort |
| effort_rate | largest change of commanded efforts, N m/s or N/s |
| watchdog | age of a command that stops the arm for good, s |
| added_gravity, added_coriolis | shares of these efforts that a robot with a model adds itself |
| added_viscous, added_coulomb | shares of its friction that it adds itself |

The Python files: `arms` writes descriptions and kernels, `workspace` builds packages, `system` runs
processes, `plant_log` reads the log, `driver_arms` gives plants the traits of drivers, `tracking`,
`scenarios`, `timing`, `drivers` and `wrong_profiles` measure.
"""
