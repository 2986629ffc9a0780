//! A step may be asked with other settings, or through another client, than the rest of its class. What stands inside the
//! job queue is then another stack; the queue itself stands around the whole run and is the class's own.

use crate::policy::{Client, Kind};

/// A client that single steps of a class use.
#[derive(Clone, Debug, PartialEq)]
pub struct StepClient {
    /// The stack, the class's queue layer included.
    pub client: Client,
    /// The index of the client in the scenario whose guards and budgets it shares: the one that it is a changed copy
    /// of, or the other one that is named.
    pub shares_with: usize,
}

/// All layers of a class by name, innermost first, over all of its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerOrder<'a> {
    /// The names.
    pub names: Vec<&'a str>,
    /// A layer that stands outside another one in one client and inside it in the next, with that other one: no order
    /// holds for both.
    pub torn: Option<(&'a str, &'a str)>,
    /// A layer that is a hop in one client and not in another.
    pub mixed: Option<&'a str>,
    /// How many of the names are those of hops, which come first.
    hops: usize,
}

impl<'a> LayerOrder<'a> {
    /// The order that all of these clients keep, the class's own first.
    pub fn of(clients: impl Iterator<Item = &'a Client>) -> LayerOrder<'a> {
        let mut order = LayerOrder { names: Vec::new(), torn: None, mixed: None, hops: 0 };
        for client in clients {
            let mut next = 0;
            for element in client.elements() {
                let name = element.name.as_str();
                let is_hop = element.kind == Kind::Hop;
                let known = order.names.iter().position(|known| *known == name);
                if known.is_some_and(|at| (at < order.hops) != is_hop) {
                    order.mixed = order.mixed.or(Some(name));
                }
                match known {
                    Some(at) if at >= next => next = at + 1,
                    Some(_) => order.torn = order.torn.or(Some((name, order.names[next - 1]))),
                    None => {
                        // What the clients send passes one place, be there hops behind it or not.
                        if is_hop {
                            next = next.min(order.hops);
                            order.hops += 1;
                        } else {
                            next = next.max(order.hops);
                        }
                        // A queue is the outermost layer of every client that has one.
                        order.names.insert(next, name);
                        next += 1;
                    }
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Element, Role};

    /// Hops are those whose names begin so.
    fn client(names: &[&str]) -> Client {
        let element = |name: &&str| Element {
            name: (*name).to_owned(),
            kind: if name.starts_with("hop") { Kind::Hop } else { Kind::Client },
            role: Role::Guard(0),
            preset: None,
            unspoken: Vec::new(),
        };
        Client::new("c".to_owned(), false, names.iter().map(element).collect()).unwrap()
    }

    #[test]
    fn new_layers_stand_outside_of_what_they_stand_outside_of() {
        let clients = [client(&["sdk", "app", "queue"]), client(&["sdk", "queue"]), client(&["other", "app", "queue"])];
        let order = LayerOrder::of(clients.iter());
        assert_eq!((order.names, order.torn), (vec!["other", "sdk", "app", "queue"], None));
    }

    #[test]
    fn hops_stand_inside_of_what_any_client_has() {
        let clients = [client(&["hop", "sdk"]), client(&["hedge", "sdk", "app"]), client(&["hop_2", "sdk"])];
        let order = LayerOrder::of(clients.iter());
        assert_eq!((order.names, order.torn), (vec!["hop_2", "hop", "hedge", "sdk", "app"], None));
        let clients = [client(&["sdk"]), client(&["hop", "sdk"])];
        assert_eq!(LayerOrder::of(clients.iter()).mixed, None);
    }

    #[test]
    fn two_orders_at_once_are_none() {
        let clients = [client(&["a", "b"]), client(&["b", "a"])];
        assert_eq!(LayerOrder::of(clients.iter()).torn, Some(("a", "b")));
    }
}
