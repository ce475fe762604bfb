"""The regression and ordinal sets of the papers, in Torgo's and Delve's editions."""

from __future__ import annotations

from typing import Any

from pairrank.datasets.record import DatasetRecord

RAYKAR = "Raykar, Duraiswami, Krishnapuram 2007"
FUNG = "Fung, Rosales, Krishnapuram 2006"
CHU = "Chu and Ghahramani 2005"
_NO_LICENCE = "none stated"
_COLLECTION = (
    "collected by L. Torgo, https://www.dcc.fc.up.pt/~ltorgo/Regression/DataSets.html; this ARFF "
    "edition in github.com/renatopp/arff-datasets, folder regression"
)


def _arff(
    name: str,
    title: str,
    shape: tuple[int, int],
    target: str,
    origin: str,
    file: str,
    digest: str,
    papers: tuple[str, ...] = (),
    notes: str = "",
    **settings: Any,
) -> DatasetRecord:
    return DatasetRecord(
        name=name,
        title=title,
        source=f"{origin}; {_COLLECTION}",
        licence=_NO_LICENCE,
        target=target,
        n_rows=shape[0],
        n_columns=shape[1],
        files={file: digest},
        reader="arff",
        settings=settings,
        papers=papers,
        notes=notes,
    )


REGRESSION = (
    _arff(
        "diabetes",
        "Diabetes in children",
        (43, 2),
        "c_peptide: logarithm of C-peptide",
        "T. Hastie and R. Tibshirani, Generalized Additive Models, 1990",
        "diabetes.numeric.arff.gz",
        "3e6c1562a2a27fa2774b32ee92ed731e73015cd6406a7f734fb77eff02949b71",
        (RAYKAR, FUNG),
    ),
    _arff(
        "pyrim",
        "Pyrimidines, activity of inhibitors",
        (74, 27),
        "activity",
        "R. King et al. 1992; UCI, https://archive.ics.uci.edu",
        "pyrim.arff.gz",
        "7d233ca6b9663b73f9b48abf0ad0a50379582d8eca2707faeaa5e0eda5f77f84",
        (RAYKAR, FUNG),
    ),
    _arff(
        "triazines",
        "Triazines, activity of inhibitors",
        (186, 60),
        "activity",
        "R. King et al. 1995",
        "triazines.arff.gz",
        "57b0caaf3435c7fc8f27a3e298e89681bb6ecb654c0530521917952307423ca5",
        (RAYKAR, FUNG),
    ),
    _arff(
        "wisconsin",
        "Wisconsin prognostic breast cancer",
        (194, 32),
        "time to recurrence, or free of disease",
        "W. Wolberg et al.; UCI, https://archive.ics.uci.edu",
        "wisconsin.arff.gz",
        "4daef6c06afa3038f5fe3caa8b6bc612b343a5492df51ddb7b6ef45843d8b7ac",
        (RAYKAR, FUNG),
    ),
    _arff(
        "machine_cpu",
        "Computer hardware, published performance",
        (209, 6),
        "published relative performance",
        "P. Ein-Dor and J. Feldmesser; UCI, https://archive.ics.uci.edu/dataset/29",
        "machine.cpu.arff.gz",
        "6610a5cba63dcb03fba43b44ff8c9e84d56c09d7ec55474d3f735ba2c446f57f",
        (RAYKAR, FUNG),
    ),
    _arff(
        "autompg",
        "Auto MPG, fuel consumption of cars",
        (392, 7),
        "miles per gallon",
        "UCI, https://archive.ics.uci.edu/dataset/9",
        "autompg.arff.gz",
        "2fe73949cbb4f60a6932615ea1f3eb166cb8b98200e9dbe515250f20f2fd6713",
        (RAYKAR, FUNG),
        notes="Six of 398 rows lack the horsepower and are left out, as in the papers.",
        drop_missing=True,
    ),
    _arff(
        "housing",
        "Boston housing",
        (506, 13),
        "median value of homes",
        "D. Harrison and D. Rubinfeld 1978; https://lib.stat.cmu.edu/datasets/boston",
        "housing.arff.gz",
        "b5290bfb04d1eaeccc18b22812d391bcc8933428b58de63c6e3ed40162b7afaf",
        (RAYKAR, FUNG),
    ),
    _arff(
        "stock",
        "Daily stock prices of aerospace companies",
        (950, 9),
        "price of the tenth company",
        "StatLib, https://lib.stat.cmu.edu/datasets",
        "stock.arff.gz",
        "0ca3bb5928d45a5427c6ee4da8da51912a0a6c1cbafebbffb06ce947b0664ebc",
        (RAYKAR, FUNG),
    ),
    _arff(
        "abalone",
        "Abalone, age from measurements",
        (4177, 10),
        "rings",
        "W. Nash et al. 1994; UCI, https://archive.ics.uci.edu/dataset/1",
        "abalone.arff.gz",
        "3f955702660d3a6c022baf88b69f314534a625ac3fdebb761878ddff5960a560",
        (RAYKAR, FUNG),
        notes="The sex is one-hot, in three columns, as in the papers.",
    ),
    _arff(
        "cal_housing",
        "California housing, raw counts",
        (20640, 8),
        "median house value",
        "R. Pace and R. Barry 1997; https://lib.stat.cmu.edu/datasets",
        "cal.housing.arff.gz",
        "99ac39a6158b5eddec1a36be650beb5f11ff2e5237e925dfa4cb8d48cc1c7398",
        (RAYKAR, FUNG),
        notes="Raw counts; scikit-learn's copy has averages per household.",
    ),
    _arff(
        "servo",
        "Servo, rise time of a mechanism",
        (167, 12),
        "rise time",
        "K. Ulrich 1986; UCI, https://archive.ics.uci.edu/dataset/87",
        "servo.arff.gz",
        "395fd44d027d78520fe655bf24c726b24d1f2cc9c0f8d369e398376c70bc07d5",
        notes="Motor and screw are one-hot, five columns each.",
    ),
    _arff(
        "bank8fm",
        "Bank queues, 8 inputs (Delve)",
        (8192, 8),
        "rejection rate",
        "https://www.cs.toronto.edu/~delve/data/datasets.html",
        "bank8FM.arff.gz",
        "1d5f11ba3e69f537180dc5973bafee8574927041779e3146d487888e3cd3f81e",
    ),
    _arff(
        "bank32nh",
        "Bank queues, 32 inputs (Delve)",
        (8192, 32),
        "rejection rate",
        "https://www.cs.toronto.edu/~delve/data/datasets.html",
        "bank32nh.arff.gz",
        "981ee722b3d562d454ecaba52b0eb2fa5b145f43b8dd986dcc9beefe70f988e0",
    ),
    _arff(
        "cpu_small",
        "Computer activity, 12 attributes (Delve)",
        (8192, 12),
        "time in user mode",
        "https://www.cs.toronto.edu/~delve/data/datasets.html",
        "cpu.small.arff.gz",
        "be6a626bd91804c81cc2f26d015f8df23afcce7af952c522c8dfe06bc187203c",
    ),
    _arff(
        "cpu_act",
        "Computer activity, 21 attributes (Delve)",
        (8192, 21),
        "time in user mode",
        "https://www.cs.toronto.edu/~delve/data/datasets.html",
        "cpu.act.arff.gz",
        "bd0f33e9bbdb02b8124d69b7f67bcea21b998d02dba0a306b3a95fdad9188918",
    ),
    _arff(
        "census_house8L",
        "House prices from the census, 8 inputs (Delve)",
        (22784, 8),
        "median price",
        "https://www.cs.toronto.edu/~delve/data/datasets.html",
        "house8L.arff.gz",
        "7fdd550aee31efd8318eb4a5927a0daa3e0e89c09ff58d8735c96e079439d6cc",
    ),
    DatasetRecord(
        name="census_house16H",
        title="House prices from the census, 16 inputs (Delve)",
        source=(
            "https://www.cs.toronto.edu/~delve/data/datasets.html; original file in "
            "github.com/hrbzkm98/OrdBenchmarkDatasets"
        ),
        licence=_NO_LICENCE,
        target="median price",
        n_rows=22784,
        n_columns=16,
        files={
            "house_16H.zip": "9ba6c1c8d208f42c98789338340209337b4f863efb576107f68446a5442e1bca",
        },
        reader="zipped_table",
        settings={
            "member": "house_16H.data",
            "columns": [
                "P1",
                "P5p1",
                "P6p2",
                "P11p4",
                "P14p9",
                "P15p1",
                "P15p3",
                "P16p2",
                "P18p2",
                "P27p4",
                "H2p2",
                "H8p2",
                "H10p1",
                "H13p1",
                "H18pA",
                "H40p4",
            ],
        },
    ),
    DatasetRecord(
        name="chu_ordinal",
        title="Chu and Ghahramani's ordinal regression benchmark, twenty partitions",
        source=(
            "http://www.gatsby.ucl.ac.uk/~chuwei/ordinalregression.html; the original archives in "
            "github.com/hrbzkm98/OrdBenchmarkDatasets"
        ),
        licence=_NO_LICENCE,
        target="ordinal label, 1 to n_bins",
        n_rows=1000,
        n_columns=10,
        files={
            "ordinal_abalone.zip": (
                "84c27eab519c048fa62485d24ca3e826a3a1668ad68fc8701eb7e93d3ff4f426"
            ),
            "ordinal_autompg.zip": (
                "028407ff0d533f8d529693579af4f314e0cb7e487beb8672f3cff89a73e40b1e"
            ),
            "ordinal_bostonhousing.zip": (
                "e4c05c1e2cc410786aa89a0b5be6f8392e4f3a9db272a1cc422cee23c21ec0f8"
            ),
            "ordinal_breast.zip": (
                "9b18c5c6fb2a9c08600c938b53c1ce1a722ac76bb2bcf2bbad532f7fd785a89f"
            ),
            "ordinal_diabetes.zip": (
                "93812e7760616ae17d32ed91e4dab3f69786781daa988b7270a43c4aad552995"
            ),
            "ordinal_machine.zip": (
                "645523531ce39e119c635becb3eec0378b6453ed6c301d1d32f803b88a35552a"
            ),
            "ordinal_pyrimidines.zip": (
                "60ad17e51fc0fb3ff5ddae99f348144e1556c3dc130520504e87ac8d29c5335a"
            ),
            "ordinal_stocksdomain.zip": (
                "7c95acef5339ccb23fe583ac0695ae3cbd7aaaa1a7f94d4f99b715579f7a9603"
            ),
            "ordinal_triazines.zip": (
                "4a0ad851508b59be5927623ceaa30bee283850a61bb5035512588d364a347ba7"
            ),
        },
        reader="chu_ordinal",
        settings={
            "archives": {
                "abalone": "ordinal_abalone.zip",
                "autompg": "ordinal_autompg.zip",
                "diabetes": "ordinal_diabetes.zip",
                "housing": "ordinal_bostonhousing.zip",
                "machine_cpu": "ordinal_machine.zip",
                "pyrim": "ordinal_pyrimidines.zip",
                "stock": "ordinal_stocksdomain.zip",
                "triazines": "ordinal_triazines.zip",
                "wisconsin": "ordinal_breast.zip",
            }
        },
        options=("dataset='abalone'", "n_bins=5|10", "partition=1..20", "subset='train'|'test'"),
        papers=(CHU,),
        notes="Bins of equal width, (a, b], of the whole set: discretize(y, n_bins, by='width').",
    ),
)
