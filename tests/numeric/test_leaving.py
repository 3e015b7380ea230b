"""Work that nobody waits for any more is left; all other work goes on."""

import threading

import pytest

from privacyfunnel.numeric.leaving import Left, leavable, unless_left, while_awaited


def test_work_goes_on_until_it_is_left():
    event = threading.Event()
    with leavable(event):
        items = while_awaited(range(5))
        assert [next(items), next(items)] == [0, 1]
        event.set()
        with pytest.raises(Left):
            next(items)


def test_nobody_who_was_not_told_to_leave_does():
    event = threading.Event()
    event.set()
    assert list(while_awaited(range(3))) == [0, 1, 2]
    with leavable(event), leavable(threading.Event()):
        unless_left()
    unless_left()


def test_leaving_is_not_taken_for_trouble():
    assert not issubclass(Left, Exception)
