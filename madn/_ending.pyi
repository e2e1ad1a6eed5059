def ends(
    pieces: int,
    squares: int,
    three_rolls: bool,
    no_jumping: bool,
    must_capture: bool,
    most_passes: int = 1000,
) -> tuple[int, int]: ...
