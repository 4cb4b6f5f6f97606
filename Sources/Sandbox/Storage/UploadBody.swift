/// The bytes of an upload, sent as the plain body or as the file of a multipart form, as supabase-swift does.
struct UploadBody: Sendable {
    let bytes: [UInt8]
    let mediaType: String
    let cacheSeconds: String
    let upserts: Bool

    init(_ request: ReceivedRequest) throws(StorageFailure) {
        upserts = request.header("x-upsert") == "true"
        guard request.mediaType == "multipart/form-data" else {
            bytes = request.body
            mediaType = request.mediaType ?? "application/octet-stream"
            cacheSeconds = request.header("cache-control")?.split(separator: "=").last.map(String.init) ?? "3600"
            return
        }
        guard let form = MultipartBody(request.body, contentType: request.header("content-type") ?? "") else {
            throw .invalidRequest("malformed multipart form")
        }
        guard let file = form.parts.first(where: { $0.isFile }) else { throw .invalidRequest("No content provided") }
        bytes = file.bytes
        mediaType = file.mediaType ?? "application/octet-stream"
        cacheSeconds =
            form.parts.first { $0.name == "cacheControl" }.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "3600"
    }
}
