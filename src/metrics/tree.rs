//! Named numbers in a tree: the shape of the JSON summary. The same tree holds plain numbers for one run and
//! statistics over replicates, so that a report is written once for both.

/// A tree of named leaves; order is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<L> {
    /// A number or a statistic.
    Leaf(L),
    /// Named branches, in the order in which they are printed.
    Table(Vec<(String, Tree<L>)>),
}

/// One number of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value; NaN where it is not defined (a share of nothing, a quantile of nothing).
    pub value: f64,
    /// Whether it counts things, so that it is printed without a decimal point.
    pub whole: bool,
}

impl Number {
    /// A count.
    pub const fn count(n: u64) -> Number {
        Number { value: n as f64, whole: true }
    }

    /// A real number.
    pub const fn real(value: f64) -> Number {
        Number { value, whole: false }
    }

    /// `part / whole`, undefined where `whole` is 0.
    pub fn ratio(part: u64, whole: u64) -> Number {
        Number::real(if whole == 0 { f64::NAN } else { part as f64 / whole as f64 })
    }

    /// The value, where it is defined.
    pub fn get(self) -> Option<f64> {
        (!self.value.is_nan()).then_some(self.value)
    }
}

impl<L> Tree<L> {
    /// The branch at this path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Tree<L>> {
        path.iter().try_fold(self, |tree, name| match tree {
            Tree::Leaf(_) => None,
            Tree::Table(branches) => branches.iter().find(|(key, _)| key == name).map(|(_, branch)| branch),
        })
    }

    /// The leaf at this path of names.
    pub fn leaf(&self, path: &[&str]) -> Option<&L> {
        match self.at(path)? {
            Tree::Leaf(leaf) => Some(leaf),
            Tree::Table(_) => None,
        }
    }

    /// The named branches; none for a leaf.
    pub fn branches(&self) -> &[(String, Tree<L>)] {
        match self {
            Tree::Leaf(_) => &[],
            Tree::Table(branches) => branches,
        }
    }

    /// The same tree with other leaves, made in order.
    pub fn map<M>(&self, f: &mut impl FnMut(&L) -> M) -> Tree<M> {
        match self {
            Tree::Leaf(leaf) => Tree::Leaf(f(leaf)),
            Tree::Table(branches) => {
                Tree::Table(branches.iter().map(|(key, branch)| (key.clone(), branch.map(f))).collect())
            }
        }
    }

    /// All leaves in order.
    pub fn leaves(&self) -> Vec<&L> {
        let mut out = Vec::new();
        self.visit(&mut |leaf| out.push(leaf));
        out
    }

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a L)) {
        match self {
            Tree::Leaf(leaf) => f(leaf),
            Tree::Table(branches) => branches.iter().for_each(|(_, branch)| branch.visit(f)),
        }
    }
}
