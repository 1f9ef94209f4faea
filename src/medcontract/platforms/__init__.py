"""What the scoring programs of bundles run on a challenge platform: one module per platform.

All of them score one submission, which is not trusted, against the truth of the organizer (`evaluate_submission`). A
submission that is refused gets a reason that reveals nothing of the truth, where the platform shows it, and never a
figure that the platform could rank.
"""
