import AccountLifecycle
import Dispatch
import Synchronization
import Terminal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Pauses a rehearsal after each step until the operator has checked the device.
final class RehearsalPrompt: Sendable {
    private let context: CommandContext
    private let isPreflightTold = Mutex(false)

    init(context: CommandContext) {
        self.context = context
    }

    /// Says what to check after a step, and waits for Enter if the command can prompt.
    ///
    /// - Throws: `CancellationError` if the rehearsal is to end, or standard input has ended.
    func tell(_ step: DeletionStep) async throws {
        // A preflight that expired while the operator looked is repeated. A prompt after that, too, could let each one
        // expire, and the rehearsal would never get further.
        guard step != .preflight || isFirstPreflight() else {
            context.messages.note("\(step.rawValue): repeated, since its result had expired")
            return
        }
        context.messages.note("\(step.rawValue): \(step.whatToLookAt)")
        // After the last step there is nothing to continue with.
        guard context.isInteractive, step != DeletionStep.allCases.last else { return }
        context.messages.note("Press Enter to continue, or Ctrl-C to stop here; a worker then continues.")
        // Reads on a thread of its own, so that the heartbeats that keep workers away continue.
        let (lines, line) = AsyncStream.makeStream(of: Void.self)
        DispatchQueue.global().async {
            if Self.readEnter() { line.yield() }
            line.finish()
        }
        for await _ in lines { return }
        throw CancellationError()
    }

    private func isFirstPreflight() -> Bool {
        isPreflightTold.withLock { isTold in
            defer { isTold = true }
            return !isTold
        }
    }

    /// Reads to the end of a line; returns false if the input ends, such as when the terminal is closed.
    ///
    /// Reads the descriptor directly: a read from a C stdio stream would hold the stream's lock, for which the end of
    /// the process waits.
    private static func readEnter() -> Bool {
        var byte: UInt8 = 0
        var count = 0
        repeat {
            count = read(STDIN_FILENO, &byte, 1)
        } while count == 1 && byte != UInt8(ascii: "\n") || count < 0 && errno == EINTR
        return count == 1
    }
}

extension DeletionStep {
    /// What the operator should see on the device after this step.
    fileprivate var whatToLookAt: String {
        switch self {
        case .preflight: "nothing was touched; the app works as before"
        case .lockOut:
            "the app can no longer change profile and avatar, and is signed out when it refreshes its session"
        case .revokeApple:
            "the app is gone from Settings, your name, Sign in with Apple, if a credential was held; Apple may "
                + "send an e-mail"
        case .deleteAvatars: "the picture no longer loads, once caches have dropped it"
        case .deleteRows: "the profile is gone for other people; signing in with e-mail fails"
        case .scrubAuth: "nothing to see"
        case .verify: "everything readable was searched for what is left"
        case .settle: "no old access token and no signed upload can write any more; searched once more"
        case .receipt:
            "the status token says verified; signing in with Apple makes a new account and asks for the name again"
        }
    }
}
