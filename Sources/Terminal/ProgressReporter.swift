import Synchronization

/// Shows progress on standard error: one line that is redrawn on a terminal, a plain line now and then elsewhere.
package final class ProgressReporter: Sendable {
    private let label: String
    private let total: Int?
    private let messages: Messages
    private let elapsed: @Sendable () -> Duration
    private let lastShown = Mutex<Duration?>(nil)

    /// - Parameters:
    ///   - label: what is being done.
    ///   - total: how much there is to do, if known.
    ///   - messages: where the line goes.
    ///   - elapsed: the time since the start.
    package init(_ label: String, total: Int?, messages: Messages, elapsed: (@Sendable () -> Duration)? = nil) {
        self.label = label
        self.total = total
        self.messages = messages
        let start = ContinuousClock.now
        self.elapsed = elapsed ?? { ContinuousClock.now - start }
    }

    /// Says how much is done; most calls show nothing, so that it may be called for every item.
    package func update(_ done: Int) {
        show(done, force: false)
    }

    /// Shows the last state and leaves the line.
    package func finish(_ done: Int) {
        show(done, force: true)
        messages.leaveLine()
    }

    private func show(_ done: Int, force: Bool) {
        let now = elapsed()
        let redraws = messages.style.redraws
        let pause: Duration = redraws ? .milliseconds(100) : .seconds(10)
        lastShown.withLock { lastShown in
            if !force {
                if let last = lastShown, now - last < pause { return }
                // Off a terminal short work should leave no trace in a log.
                if lastShown == nil, !redraws, now < pause { return }
            }
            if force, !redraws, lastShown == nil { return }
            lastShown = now
            let line = ProgressLine(label: label, done: done, total: total, elapsed: now).text()
            if redraws {
                messages.redraw(line)
            } else {
                messages.raw(line + "\n")
            }
        }
    }
}
