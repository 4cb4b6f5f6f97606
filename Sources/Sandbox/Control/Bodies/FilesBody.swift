/// `POST /control/storage/files`.
struct FilesBody: Decodable {
    let broken: Bool
}
