#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The contents of the list of erasures, to be looked up by account and by request.
package struct ErasureList: Sendable {
    private struct Entry {
        let listed: ListedErasure
        let moment: Date
    }

    private var entries: [UUID: Entry] = [:]
    /// The latest moment at which a part of the list was written.
    package private(set) var moment: Date?

    /// The highest number of a receipt in the list.
    package private(set) var lastReceipt: Int64?

    /// The latest moment of a part that is complete.
    private var wholeMoment: Date?
    /// When a part was written after the restore, if one was: it lists as open what an older part lists as ended.
    package private(set) var writtenAfterRestore: Date?

    package init() {}

    /// How many requests the list names.
    package var count: Int { entries.count }

    /// Adds a request as it was at a moment; of several entries for it, the latest counts.
    package mutating func add(_ listed: ListedErasure, at moment: Date) {
        if let known = entries[listed.request] {
            if known.listed.state.isFinal != listed.state.isFinal {
                let (ended, open) = known.listed.state.isFinal ? (known.moment, moment) : (moment, known.moment)
                if open > ended { writtenAfterRestore = max(writtenAfterRestore ?? open, open) }
            }
            if known.moment > moment { return }
        }
        entries[listed.request] = Entry(listed: listed, moment: moment)
    }

    /// Adds the number of a receipt, if there is one; also of a request that is left out, since its number is taken as
    /// well.
    package mutating func add(receipt: Int64?) {
        guard let receipt else { return }
        lastReceipt = max(lastReceipt ?? receipt, receipt)
    }

    /// Records that a part of the list was written at a moment, and whether that part is complete.
    package mutating func add(moment: Date, isWhole: Bool) {
        self.moment = max(self.moment ?? moment, moment)
        if isWhole { wholeMoment = max(wholeMoment ?? moment, moment) }
    }

    /// The entry for a request, if it was of this account; nil if the list has none.
    func listed(_ request: UUID, of subject: SubjectHash) -> ListedErasure? {
        entries[request].flatMap { $0.listed.subject == subject && !isPast($0) ? $0.listed : nil }
    }

    /// The requests of each account that were erased or open; a cancelled one asks for nothing.
    ///
    /// Nor does an erasure before it: the account had come back, by a restore or on purpose, and was to stay.
    func wanted() -> [SubjectHash: [ListedErasure]] {
        let cancelled = lastCancelled()
        return entries.values.reduce(into: [:]) { wanted, entry in
            let listed = entry.listed
            if listed.state == .cancelled || isPast(entry) { return }
            if listed.state == .verified, let moment = cancelled[listed.subject], moment > listed.lastMoment { return }
            wanted[listed.subject, default: []].append(listed)
        }
    }

    /// When the newest of the cancelled requests of each account was made.
    private func lastCancelled() -> [SubjectHash: Date] {
        entries.values.reduce(into: [:]) { moments, entry in
            let listed = entry.listed
            guard listed.state == .cancelled else { return }
            moments[listed.subject] = max(moments[listed.subject] ?? listed.requestedAt, listed.requestedAt)
        }
    }

    /// Whether a request was open and no longer is: every complete list contains the requests that are open, so a newer
    /// one would contain it.
    private func isPast(_ entry: Entry) -> Bool {
        guard let wholeMoment else { return false }
        return !entry.listed.state.isFinal && entry.moment < wholeMoment
    }
}
