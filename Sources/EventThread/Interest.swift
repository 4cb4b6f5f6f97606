#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The events of a descriptor.
package struct IOEvents: OptionSet, Sendable {
    package let rawValue: Int16

    package init(rawValue: Int16) {
        self.rawValue = rawValue
    }

    /// There are data to read, or the end of the stream.
    package static let read = IOEvents(rawValue: Int16(POLLIN))

    /// Writing would not block.
    package static let write = IOEvents(rawValue: Int16(POLLOUT))

    /// The other side is gone or the descriptor is broken; reported even if not requested.
    package static let failure = IOEvents(rawValue: Int16(POLLERR | POLLHUP | POLLNVAL))
}

/// A descriptor and the events to wait for on it.
package struct Interest: Sendable, Equatable {
    /// The file descriptor; the caller keeps it open during the wait.
    package var descriptor: Int32

    /// The events requested, or the events that happened.
    package var events: IOEvents

    package init(_ descriptor: Int32, _ events: IOEvents) {
        self.descriptor = descriptor
        self.events = events
    }
}

/// Why a wait ended.
package enum Readiness: Sendable, Equatable {
    /// These descriptors are ready, with what happened on each.
    case ready([Interest])
    /// The deadline has come.
    case deadline
    /// Somebody called ``EventThread/wake()``.
    case woken
}

/// Why a wait for a single descriptor ended.
package enum SoleReadiness: Sendable, Equatable {
    /// The descriptor is ready, with what happened on it.
    case ready(IOEvents)
    /// The deadline has come.
    case deadline
    /// Somebody called ``EventThread/wake()``.
    case woken
}

/// Descriptors that are watched while a thread has nothing else to do.
package struct IdleWatch: Sendable {
    /// The descriptors and what to watch for on each.
    var interests: [Interest]

    /// When to call the handler even if nothing happened.
    var deadline: ContinuousClock.Instant?

    /// Called on the thread with the events; with an empty list when the deadline has come.
    var handler: @Sendable ([Interest]) -> Void

    package init(
        _ interests: [Interest],
        until deadline: ContinuousClock.Instant? = nil,
        handler: @escaping @Sendable ([Interest]) -> Void
    ) {
        self.interests = interests
        self.deadline = deadline
        self.handler = handler
    }
}
