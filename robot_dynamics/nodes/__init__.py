"""ROS 2: parameters, messages in, one pure call, messages out."""
