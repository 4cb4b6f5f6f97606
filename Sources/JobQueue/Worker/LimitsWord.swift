/// For which kinds a worker still has to say the limits in its code: those of the newest release that lives are to
/// stand.
///
/// A worker says them when it begins, unless a newer release has the kind. It says them again once the newer ones have
/// gone, as when a deploy is taken back: they may have said others, and nobody else would.
struct LimitsWord: Sendable {
    /// Kinds whose limits were not said yet, or have perhaps been changed by a newer release since.
    private var open: Set<String>
    private var latestStarts: [String: Int64] = [:]

    init(kinds: Set<String>) {
        open = kinds
    }

    /// Takes note of the newer releases, and returns the kinds whose limits are to be said now.
    mutating func heard(_ newer: [String: JobQueue.NewerRelease]) -> Set<String> {
        for (kind, release) in newer {
            // One that began since may have come and gone unseen.
            if release.isAlive || release.latestStart > latestStarts[kind] ?? .min { open.insert(kind) }
            latestStarts[kind] = release.latestStart
        }
        return open.filter { newer[$0]?.isAlive != true }
    }

    /// Those of these kinds were said.
    mutating func said(_ kinds: Set<String>) {
        open.subtract(kinds)
    }
}
