"""What an environment shows of a game."""

from madn.envs.episode import Episode


def rendered(episode: Episode, mode: str | None) -> str | None:
    """The board with the side that moved first at the bottom; printed if the mode is `human`."""
    if mode is None:
        return None
    text = episode.board.ascii(flip=episode.mover == 1)
    if episode.winner is None:
        text += f"\nroll: {episode.roll}"
    if mode == "human":
        print(text)
        return None
    return text
