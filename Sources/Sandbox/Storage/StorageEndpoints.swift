import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The HTTP endpoints of the simulated Storage.
struct StorageEndpoints: Sendable {
    let keys: StorageKeys
    let files: FileStore?
    let scope: StorageScope?
    let clock: SandboxClock
    let deleteLimit: Int?

    /// Answers a request; with `carryOut` false, the answer is the same but nothing is changed.
    func answer(_ route: StorageRoute, _ request: ReceivedRequest, carryOut: Bool) async throws -> Reply {
        do {
            guard let scope, let files else {
                throw StorageFailure(
                    544,
                    "DatabaseTimeout",
                    "this sandbox was started without a database",
                    code: "DatabaseTimeout",
                    httpStatus: 544
                )
            }
            let operations = StorageOperations(scope: scope, files: files, operation: route.operation)
            if case .downloadPublic(let bucket, let key) = route {
                return try await operations.downloadPublic(bucket: bucket, key: key)
            }
            let caller = try StorageCaller(request, keys: keys, now: clock.now)
            switch route {
            case .buckets: return try await operations.buckets(as: caller)
            case .bucket(let bucket): return try await operations.bucket(bucket, as: caller)
            case .list(let bucket):
                return try await operations.list(bucket, try decode(ListBody.self, request), as: caller)
            case .listRecursively(let bucket):
                return try await operations.listPage(bucket, try decode(ListPageBody.self, request), as: caller)
            case .deleteMany(let bucket):
                let body = try decode(DeleteBody.self, request)
                if let deleteLimit, body.prefixes.count > deleteLimit {
                    throw StorageFailure.invalidRequest("body/prefixes must NOT have more than \(deleteLimit) items")
                }
                return try await operations.deleteMany(bucket, body.prefixes, as: caller, carryOut: carryOut)
            case .deleteOne(let bucket, let key):
                return try await operations.deleteOne(bucket, key, as: caller, carryOut: carryOut)
            case .upload(let bucket, let key, let replaces):
                let upload = try UploadBody(request)
                return try await operations.upload(
                    bucket,
                    key,
                    upload,
                    replaces: replaces,
                    as: caller,
                    carryOut: carryOut
                )
            case .download(let bucket, let key):
                return try await operations.download(
                    bucket: bucket,
                    key: key,
                    range: request.header("range"),
                    as: caller
                )
            case .downloadPublic, .unknown: throw StorageFailure.invalidRequest("Route not found")
            }
        } catch let pretended as Pretended {
            return pretended.reply
        } catch let refusal as StorageCaller.GatewayRefusal {
            struct Body: Encodable {
                let message: String
                let hint: String?
            }
            return try .json(
                Body(message: refusal.message, hint: refusal.hint),
                status: 401,
                reason: refusal.message
            )
        } catch let failure as StorageFailure {
            return try .json(failure.body, status: failure.httpStatus, reason: failure.body.message)
        } catch let error as PostgresError {
            let failure = StorageFailure(error)
            return try .json(failure.body, status: failure.httpStatus, reason: "\(error)")
        }
    }

    private func decode<Body: Decodable>(_ type: Body.Type, _ request: ReceivedRequest) throws(StorageFailure) -> Body {
        guard request.mediaType == "application/json" else { throw .invalidRequest("body must be object") }
        do {
            return try JSONDecoder().decode(type, from: Data(request.body))
        } catch {
            throw .invalidRequest("body does not match the schema")
        }
    }
}
