"""C and C++ for other people's programs: a package of ros2_control controllers."""
