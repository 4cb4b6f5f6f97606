import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Stores the bytes of objects on disk: `folder/bucket/key/version`, with each segment escaped.
struct FileStore: Sendable {
    let folder: String
    /// Shared by all copies: whether the backend that holds the bytes is broken.
    private let breakage = Breakage()

    private final class Breakage: Sendable {
        let isBroken = Mutex(false)
    }

    init(folder: String) {
        self.folder = folder
    }

    func setBroken(_ isBroken: Bool) {
        breakage.isBroken.withLock { $0 = isBroken }
    }

    func write(_ bytes: [UInt8], bucket: String, key: String, version: String) throws {
        try checkOrder()
        let place = self.place(bucket: bucket, key: key)
        let data = Data(bytes)
        // A concurrent delete may remove the empty folder between the two calls.
        for attempt in 1...3 {
            do {
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                try data.write(to: URL(filePath: place + "/" + version))
                return
            } catch  where attempt < 3 {
                continue
            }
        }
    }

    /// The size of a version, and its bytes; for a range, only the bytes in it.
    func read(
        bucket: String,
        key: String,
        version: String,
        _ range: ClosedRange<Int>? = nil
    ) throws -> (bytes: [UInt8], size: Int) {
        try checkOrder()
        // Memory-mapped, so that only the range of a large file is read.
        let file = URL(filePath: place(bucket: bucket, key: key) + "/" + version)
        let data = try Data(contentsOf: file, options: .alwaysMapped)
        let start = min(range?.lowerBound ?? 0, data.count)
        let end = min(range?.upperBound ?? data.count, data.count - 1) + 1
        return (start < end ? Array(data[start..<end]) : [], data.count)
    }

    /// Removes the bytes of one version and any folders left empty; missing bytes are not an error.
    func remove(bucket: String, key: String, version: String) throws {
        try checkOrder()
        var place = self.place(bucket: bucket, key: key)
        let file = place + "/" + version
        guard FileManager.default.fileExists(atPath: file) else { return }
        try FileManager.default.removeItem(atPath: file)
        let root = folder + "/" + escaped(bucket)
        while place.count > root.count, rmdirIfEmpty(place) {
            place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
        }
    }

    /// The paths of all files of a bucket, relative to the bucket's folder.
    func files(bucket: String) -> [String] {
        let root = folder + "/" + escaped(bucket)
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
        return paths.filter { path in
            var isFolder = false
            return FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder) && !isFolder
        }
    }

    private func rmdirIfEmpty(_ path: String) -> Bool {
        guard (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty == true else { return false }
        return (try? FileManager.default.removeItem(atPath: path)) != nil
    }

    private func checkOrder() throws {
        if breakage.isBroken.withLock({ $0 }) { throw StorageFailure.backend }
    }

    private func place(bucket: String, key: String) -> String {
        let segments = key.split(separator: "/", omittingEmptySubsequences: false).map { escaped(String($0)) }
        return ([folder, escaped(bucket)] + segments).joined(separator: "/")
    }

    /// A segment that every file system treats as a plain name.
    private func escaped(_ segment: String) -> String {
        switch segment {
        case "": "%"
        case ".": "%2E"
        case "..": "%2E%2E"
        default: PercentCoding.encode(segment)
        }
    }
}
