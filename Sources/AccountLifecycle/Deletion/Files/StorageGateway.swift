package import ObjectStorage
import Waiting

/// The lifecycle's calls to Storage, with answers in terms of what they mean for a request.
package struct StorageGateway: Sendable {
    /// The result of listing keys.
    enum Listing: Sendable, Hashable {
        case keys([String])
        case trouble(Situation)
    }

    /// The result of reading a part of an object.
    enum Reading: Sendable {
        case part(StoragePart)
        /// The row exists but the bytes do not, or both have just gone.
        case gone
        /// No request can name it: nothing was asked.
        case unaddressable
        case trouble(Situation)
    }

    /// The subject of the check: all buckets have one server.
    private enum Subject { case server }

    private let client: StorageClient?
    private let check: RecentlyGood<Subject, Situation>

    /// - Parameter client: nil if Storage is not configured; accounts that own objects then wait.
    package init(_ client: StorageClient?) {
        self.client = client
        check = RecentlyGood { _ in
            guard let client else { return Self.unconfigured }
            return switch try await client.buckets() {
            case .done: nil
            case .gone(let refusal), .misconfigured(let refusal):
                Self.situation("\(refusal)", of: nil, Self.fault(refusal))
            case .later(let delay): Self.situation(delay, of: nil)
            }
        }
    }

    /// The longest that one call may take, including its repeats.
    var longestCall: Duration { client?.deadline ?? .zero }

    /// Whether there is a Storage to ask.
    var isConfigured: Bool { client != nil }

    /// The situation that prevents objects from being deleted now; nil if there is none.
    func trouble() async throws -> Situation? {
        try await check.trouble(with: .server)
    }

    /// Waits until a call could be sent at once, and has `body` make it, so that the call's time limit does not run
    /// while it queues.
    ///
    /// Conditions that have to hold when the call is sent are to be checked in `body`.
    func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let client else { return try await body() }
        return try await client.inTurn(body)
    }

    /// Asks Storage to delete objects, a few times if it turns the call away; a reported success proves nothing, see
    /// ``AccountObjects``.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - judge: Which objects may be deleted, determined right before each call, in its turn; no call is made for
    ///     none.
    /// - Returns: What was asked for, and what prevented the last call's objects from being deleted.
    /// - Throws: what `judge` throws; `CancellationError`.
    func delete(
        in bucket: String,
        judging judge: () async throws -> [StorageTarget]
    ) async throws -> (deletion: JudgedDeletion, trouble: Situation?) {
        guard let client else { return (JudgedDeletion(), try await judge().isEmpty ? nil : Self.unconfigured) }
        let deletion = try await client.delete(in: bucket, judging: judge)
        return (deletion, deletion.outcome.flatMap { Self.trouble($0, bucket) })
    }

    private static func trouble(_ outcome: StorageOutcome<StorageDeletion>, _ bucket: String) -> Situation? {
        switch outcome {
        case .done(let deletion):
            // Never observed. Nobody can tell what else Storage deleted: a person has to look before more is asked of
            // it.
            guard !deletion.unrequested.isEmpty else { return nil }
            return situation(
                "Storage says that it deleted \(deletion.unrequested.count) objects that nobody asked for",
                of: bucket
            )
        case .gone: return nil
        case .misconfigured(let refusal): return situation("\(refusal)", of: bucket, fault(refusal))
        case .later(let delay): return situation(delay, of: bucket)
        }
    }

    /// The next bytes of an object.
    func read(_ key: String, in bucket: String, from cursor: StoragePart.Cursor?) async throws -> Reading {
        guard let client else { return .trouble(Self.unconfigured) }
        guard let object = try? ObjectAddress(bucket: bucket, key: key) else { return .unaddressable }
        return switch try await client.read(object, from: cursor) {
        case .done(let part): .part(part)
        case .gone where cursor == nil: .gone
        case .gone(let refusal): .trouble(Self.situation("it disappeared while it was read: \(refusal)", of: bucket))
        case .misconfigured(let refusal): .trouble(Self.situation("\(refusal)", of: bucket, Self.fault(refusal)))
        case .later(let delay): .trouble(Self.situation(delay, of: bucket))
        }
    }

    /// The keys below a folder.
    func list(_ folder: String, in bucket: String) async throws -> Listing {
        guard let client else { return .trouble(Self.unconfigured) }
        var keys: [String] = []
        var cursor: StorageListing.Cursor?
        repeat {
            let page = try await inTurn { try await client.list(bucket: bucket, folder: folder, from: cursor) }
            switch page {
            case .done(let page):
                keys += page.keys
                cursor = page.next
            case .gone: return .keys([])
            case .misconfigured(let refusal):
                return .trouble(Self.situation("\(refusal)", of: bucket, Self.fault(refusal)))
            case .later(let delay): return .trouble(Self.situation(delay, of: bucket))
            }
        } while cursor != nil
        return .keys(keys)
    }

    private static var unconfigured: Situation {
        Situation(.storageUnusable, fault: .settings, detail: "Storage is not configured")
    }

    private static func situation(
        _ detail: String,
        of bucket: String?,
        _ fault: Situation.Fault? = nil
    ) -> Situation {
        Situation(.storageUnusable, fault: fault, subject: bucket, detail: detail)
    }

    private static func fault(_ refusal: StorageRefusal) -> Situation.Fault {
        refusal.isOfKey ? .key : .settings
    }

    private static func situation(_ delay: StorageDelay, of bucket: String?) -> Situation {
        Situation(.storageUnusable, subject: bucket, detail: "\(delay)", retryAfter: delay.retryAfter)
    }
}
