"""What generates the files of one robot, the iCub: hands, upper body, MoveIt files, fits."""
