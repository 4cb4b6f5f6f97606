import AccountLifecycle
import Dispatch
import Synchronization
import Terminal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Stops a rehearsal after each step, until somebody has looked at the device.
final class RehearsalPrompt: Sendable {
    private let context: CommandContext
    private let isPreflightTold = Mutex(false)

    init(context: CommandContext) {
        self.context = context
    }

    /// Says what should be seen after a step, and waits for Enter where somebody can be asked.
    ///
    /// - Throws: `CancellationError` when the rehearsal is to end, or nobody is there any more to look.
    func tell(_ step: DeletionStep) async throws {
        // Whoever looks for longer than a preflight holds would be asked after each, and never come further.
        guard step != .preflight || isFirstPreflight() else {
            context.messages.note("\(step.rawValue): taken again, since what it saw was too old by now")
            return
        }
        context.messages.note("\(step.rawValue): \(step.whatToLookAt)")
        // Behind the last one nothing is left to go on with.
        guard context.isInteractive, step != DeletionStep.allCases.last else { return }
        context.messages.note("Enter goes on, Ctrl-C stops here; a worker carries on then.")
        // On a thread of its own: the heartbeats that keep workers away go on meanwhile.
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

    /// Reads to the end of a line; false where the input ends, as with a terminal that goes.
    ///
    /// Not through the C library's stream: whoever reads from that holds its lock, for which the end of the process
    /// waits.
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
    /// What somebody with the device in hand should see now.
    fileprivate var whatToLookAt: String {
        switch self {
        case .preflight: "nothing was touched; the app works as before"
        case .lockOut:
            "the app can no longer change profile and avatar, and is signed out when it refreshes its session"
        case .revokeApple:
            "the app is gone from Settings, Apple Account, Sign in with Apple, where a credential was held; Apple may send a mail"
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
