"""Challenge platforms: what an organizer uploads, and what the platform then runs; one module per platform.

The entry points score one submission, which is not trusted, against the truth of the organizer (`evaluation`). A
submission that is refused gets a reason that reveals nothing of the truth, where the platform shows it, and never a
figure that the platform could rank.
"""
