import MailRelay
import Postgres

extension PathVerdict: PostgresDecodable {}
extension Reachability: PostgresDecodable {}
